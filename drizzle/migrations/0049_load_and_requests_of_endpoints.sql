CREATE TABLE "endpoint_load" (
	"endpoint_id" text NOT NULL,
	"period_id" bigint NOT NULL,
	"sampled_at" timestamp with time zone DEFAULT now() NOT NULL,
	"queued" integer NOT NULL,
	"running" integer NOT NULL,
	"workers" integer NOT NULL
);
--> statement-breakpoint
CREATE TABLE "load_period" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "load_period_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"started_at" timestamp with time zone DEFAULT now() NOT NULL,
	"sampled_at" timestamp with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "endpoint_request_total" (
	"endpoint_id" text PRIMARY KEY NOT NULL,
	"outcomes" bigint[] NOT NULL,
	"bytes_in" bigint NOT NULL,
	"bytes_out" bigint NOT NULL,
	"duration_ms" bigint NOT NULL,
	"durations" bigint[] NOT NULL
);
--> statement-breakpoint
CREATE TABLE "endpoint_requests" (
	"endpoint_id" text NOT NULL,
	"worker_id" text NOT NULL,
	"ended_at" timestamp with time zone DEFAULT now() NOT NULL,
	"span_ms" integer NOT NULL,
	"outcomes" integer[] NOT NULL,
	"bytes_in" bigint NOT NULL,
	"bytes_out" bigint NOT NULL,
	"duration_ms" bigint NOT NULL,
	"durations" integer[] NOT NULL
);
--> statement-breakpoint
CREATE TABLE "failed_request" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "failed_request_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"endpoint_id" text NOT NULL,
	"failed_at" timestamp with time zone NOT NULL,
	"method" text NOT NULL,
	"path" text NOT NULL,
	"has_query" boolean NOT NULL,
	"status" integer NOT NULL,
	"duration_ms" integer NOT NULL,
	"worker_id" text NOT NULL,
	"cause" text NOT NULL
);
--> statement-breakpoint
CREATE INDEX "endpoint_load_endpoint_idx" ON "endpoint_load" USING btree ("endpoint_id","sampled_at");--> statement-breakpoint
CREATE INDEX "endpoint_load_sampled_idx" ON "endpoint_load" USING btree ("sampled_at");--> statement-breakpoint
CREATE INDEX "endpoint_requests_endpoint_idx" ON "endpoint_requests" USING btree ("endpoint_id","ended_at");--> statement-breakpoint
CREATE INDEX "endpoint_requests_ended_idx" ON "endpoint_requests" USING btree ("ended_at");--> statement-breakpoint
CREATE INDEX "failed_request_endpoint_idx" ON "failed_request" USING btree ("endpoint_id","id");--> statement-breakpoint
CREATE INDEX "failed_request_failed_idx" ON "failed_request" USING btree ("failed_at");
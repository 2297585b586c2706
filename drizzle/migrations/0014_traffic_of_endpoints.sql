CREATE TABLE "endpoint_traffic" (
	"endpoint_id" text NOT NULL,
	"ended_at" timestamp with time zone DEFAULT now() NOT NULL,
	"span_ms" integer NOT NULL,
	"arrived" integer NOT NULL,
	"executed" integer NOT NULL,
	"execution_ms" bigint NOT NULL,
	"executions" integer[] NOT NULL,
	"waits" integer[] NOT NULL
);
--> statement-breakpoint
ALTER TABLE "worker" ADD COLUMN "ready_at" timestamp with time zone;--> statement-breakpoint
CREATE INDEX "endpoint_traffic_endpoint_idx" ON "endpoint_traffic" USING btree ("endpoint_id","ended_at");--> statement-breakpoint
CREATE INDEX "endpoint_traffic_ended_idx" ON "endpoint_traffic" USING btree ("ended_at");
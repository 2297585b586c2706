CREATE TABLE "scale_log" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "scale_log_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"endpoint_id" text NOT NULL,
	"decided_at" timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
	"target" integer NOT NULL,
	"wished" integer NOT NULL,
	"throttled" integer NOT NULL,
	"reason" text NOT NULL,
	"limits" jsonb NOT NULL,
	"numbers" jsonb NOT NULL,
	"actions" jsonb NOT NULL,
	"refusal" text NOT NULL,
	"refusal_by_machine" text NOT NULL,
	"sample" jsonb,
	"sample_bytes" integer NOT NULL
);
--> statement-breakpoint
ALTER TABLE "scale_log" ADD CONSTRAINT "scale_log_endpoint_id_endpoint_id_fk" FOREIGN KEY ("endpoint_id") REFERENCES "public"."endpoint"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "scale_log_endpoint_idx" ON "scale_log" USING btree ("endpoint_id","id");--> statement-breakpoint
CREATE INDEX "scale_log_decided_idx" ON "scale_log" USING btree ("decided_at");--> statement-breakpoint
CREATE INDEX "worker_alive_idx" ON "worker" USING btree ("endpoint_id") WHERE ended_at IS NULL;
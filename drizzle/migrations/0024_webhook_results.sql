CREATE TABLE "webhook_result" (
	"endpoint_id" text NOT NULL,
	"job_id" text NOT NULL,
	"id" bigint NOT NULL,
	"delivered" boolean NOT NULL,
	"tries" integer NOT NULL,
	"last_error" text NOT NULL,
	"redrives" integer NOT NULL,
	"ended_at" timestamp with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "webhook_result_endpoint_id_job_id_id_pk" PRIMARY KEY("endpoint_id","job_id","id")
);
--> statement-breakpoint
ALTER TABLE "webhook_delivery" ADD COLUMN "redrives" integer DEFAULT 0 NOT NULL;--> statement-breakpoint
CREATE INDEX "webhook_delivery_of_job_idx" ON "webhook_delivery" USING btree ("endpoint_id","job_id");
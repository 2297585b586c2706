CREATE TABLE "job_metadata" (
	"endpoint_id" text NOT NULL,
	"job_id" text NOT NULL,
	"key" text NOT NULL,
	"value" text NOT NULL,
	"position" bigint NOT NULL,
	CONSTRAINT "job_metadata_endpoint_id_job_id_key_pk" PRIMARY KEY("endpoint_id","job_id","key")
);
--> statement-breakpoint
ALTER TABLE "job_input" ADD COLUMN "metadata" text;--> statement-breakpoint
CREATE INDEX "job_metadata_found_idx" ON "job_metadata" USING btree ("endpoint_id","key","value","position");
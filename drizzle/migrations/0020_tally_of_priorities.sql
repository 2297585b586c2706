-- Both are done before, where there were jobs, without holding up who uses them: core/store/sql/large-indexes.ts.
DROP INDEX IF EXISTS "job_running_idx";--> statement-breakpoint
ALTER TABLE "endpoint_tally" ADD COLUMN "queued_low" bigint DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE "endpoint_tally" ADD COLUMN "claimed_to" bigint DEFAULT 0 NOT NULL;--> statement-breakpoint
CREATE INDEX IF NOT EXISTS "job_running_since_idx" ON "job" USING btree ("endpoint_id","started_at") WHERE "job"."state" = 'IN_PROGRESS';
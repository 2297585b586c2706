-- Both are done before, where there were jobs, without holding up who uses them: core/store/sql/large-indexes.ts.
DROP INDEX IF EXISTS "job_machine_idx";--> statement-breakpoint
CREATE INDEX IF NOT EXISTS "job_machine_since_idx" ON "job" USING btree ("machine_id","started_at") WHERE "job"."state" = 'IN_PROGRESS';

-- Rollback: yes.
ALTER TABLE "endpoint" ADD COLUMN "durable_before_run" boolean DEFAULT false NOT NULL;
-- Rollback: yes.
ALTER TABLE "machine" ADD COLUMN "worker_loads" jsonb DEFAULT '{}'::jsonb NOT NULL;
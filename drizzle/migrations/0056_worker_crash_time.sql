-- Rollback: yes.
ALTER TABLE "worker" ADD COLUMN "crashed_at" timestamp with time zone;
-- Rollback: yes.
ALTER TABLE "api_key" ADD COLUMN "replaces_id" text;
-- Rollback: yes.
ALTER TABLE "pod" ADD COLUMN "tcp_addresses" jsonb DEFAULT '{}'::jsonb NOT NULL;
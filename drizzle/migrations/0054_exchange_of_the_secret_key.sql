ALTER TABLE "installation" ADD COLUMN "previous_secret_key_fingerprint" "bytea";--> statement-breakpoint
ALTER TABLE "installation" ADD COLUMN "secret_key_rotated_at" timestamp with time zone;
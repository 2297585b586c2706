-- Rollback: yes.
ALTER TABLE "machine" ADD COLUMN "ephemeral" boolean DEFAULT false NOT NULL;--> statement-breakpoint
ALTER TABLE "machine" ADD COLUMN "leaves_at" timestamp with time zone;--> statement-breakpoint
ALTER TABLE "machine" ADD COLUMN "left_at" timestamp with time zone;
ALTER TABLE "machine" ADD COLUMN "draining_since" timestamp with time zone;--> statement-breakpoint
ALTER TABLE "machine" ADD COLUMN "drain_deadline_at" timestamp with time zone;--> statement-breakpoint
ALTER TABLE "machine" ADD COLUMN "drain_reason" text DEFAULT '' NOT NULL;
-- Rollback: yes.
CREATE TABLE "machine_pool" (
	"name" text PRIMARY KEY NOT NULL,
	"labels" jsonb DEFAULT '{}'::jsonb NOT NULL,
	"locations" text[] DEFAULT '{}' NOT NULL,
	"settings" jsonb DEFAULT '{}'::jsonb NOT NULL,
	"created_at" timestamp with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
ALTER TABLE "machine" ADD COLUMN "own_locations" text[] DEFAULT '{}' NOT NULL;--> statement-breakpoint
ALTER TABLE "machine" ADD COLUMN "pool" text DEFAULT '' NOT NULL;
ALTER TABLE "endpoint" ADD COLUMN "example_input" text DEFAULT '' NOT NULL;--> statement-breakpoint
ALTER TABLE "template" ADD COLUMN "example_input" text DEFAULT '' NOT NULL;
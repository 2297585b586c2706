ALTER TABLE "endpoint" ADD COLUMN "instance_ids" text[] DEFAULT '{}' NOT NULL;--> statement-breakpoint
ALTER TABLE "machine" ADD COLUMN "cpu_model" text DEFAULT '' NOT NULL;--> statement-breakpoint
ALTER TABLE "machine" ADD COLUMN "cpu_threads_per_core" integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE "pod" ADD COLUMN "instance_ids" text[] DEFAULT '{}' NOT NULL;--> statement-breakpoint
ALTER TABLE "pod" ADD COLUMN "instance_id" text DEFAULT '' NOT NULL;--> statement-breakpoint
ALTER TABLE "worker" ADD COLUMN "instance_id" text DEFAULT '' NOT NULL;--> statement-breakpoint
-- Endpoints take serverless templates only; those that are in use already were made when there was no such rule.
UPDATE "template" SET "serverless" = true WHERE NOT "serverless" AND "id" IN (SELECT "template_id" FROM "endpoint");

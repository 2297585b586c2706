ALTER TABLE "endpoint" ADD COLUMN "model_aliases" text[] DEFAULT '{}' NOT NULL;--> statement-breakpoint
ALTER TABLE "endpoint" ADD COLUMN "model_weight" integer DEFAULT 1 NOT NULL;--> statement-breakpoint
ALTER TABLE "endpoint" ADD COLUMN "model_queue_max" integer DEFAULT 0 NOT NULL;
ALTER TABLE "endpoint" ADD COLUMN "queue_delay_ms" integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE "endpoint" ADD COLUMN "execution_timeout_unset" boolean DEFAULT false NOT NULL;--> statement-breakpoint
ALTER TABLE "endpoint" ADD COLUMN "priority_flash_boot" boolean DEFAULT false NOT NULL;--> statement-breakpoint
ALTER TABLE "template" ADD COLUMN "bound_endpoint_id" text;--> statement-breakpoint
CREATE INDEX "template_bound_endpoint_idx" ON "template" USING btree ("bound_endpoint_id") WHERE "template"."bound_endpoint_id" IS NOT NULL;
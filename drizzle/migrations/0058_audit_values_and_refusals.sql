-- Rollback: yes.
ALTER TABLE "audit_event" ADD COLUMN "values" jsonb DEFAULT '{}'::jsonb NOT NULL;--> statement-breakpoint
ALTER TABLE "audit_event" ADD COLUMN "key_name" text DEFAULT '' NOT NULL;--> statement-breakpoint
ALTER TABLE "audit_event" ADD COLUMN "subject_name" text DEFAULT '' NOT NULL;--> statement-breakpoint
ALTER TABLE "audit_event" ADD COLUMN "address" text DEFAULT '' NOT NULL;--> statement-breakpoint
ALTER TABLE "audit_event" ADD COLUMN "via" text DEFAULT '' NOT NULL;--> statement-breakpoint
ALTER TABLE "audit_event" ADD COLUMN "refused" text DEFAULT '' NOT NULL;--> statement-breakpoint
ALTER TABLE "audit_event" ADD COLUMN "detail" text DEFAULT '' NOT NULL;--> statement-breakpoint
ALTER TABLE "audit_event" ADD COLUMN "attempts" integer DEFAULT 1 NOT NULL;--> statement-breakpoint
CREATE INDEX "audit_event_refused_idx" ON "audit_event" USING btree ("at") WHERE refused <> '';
ALTER TABLE "endpoint_traffic" ADD COLUMN "arrived_low" integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE "endpoint_traffic" ADD COLUMN "completed" integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE "endpoint_traffic" ADD COLUMN "failed" integer DEFAULT 0 NOT NULL;
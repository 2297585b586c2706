-- Keys of machines belong to the installation. Which machine uses which was never known: each key goes to the first that joins with it.
ALTER TABLE "api_key" ALTER COLUMN "account_id" DROP NOT NULL;--> statement-breakpoint
ALTER TABLE "audit_event" ALTER COLUMN "account_id" DROP NOT NULL;--> statement-breakpoint
ALTER TABLE "api_key" ADD COLUMN "machine_id" text;--> statement-breakpoint
ALTER TABLE "machine" ADD COLUMN "instance" text DEFAULT '' NOT NULL;--> statement-breakpoint
ALTER TABLE "machine" ADD COLUMN "instance_since" timestamp with time zone DEFAULT now() NOT NULL;--> statement-breakpoint
CREATE UNIQUE INDEX "api_key_machine_idx" ON "api_key" USING btree ("machine_id") WHERE "api_key"."revoked_at" IS NULL;--> statement-breakpoint
UPDATE "api_key" SET "account_id" = NULL, "endpoint_ids" = '{}' WHERE "scope" = 'AGENT';--> statement-breakpoint
ALTER TABLE "api_key" ADD CONSTRAINT "api_key_owner_fits" CHECK (("api_key"."scope" = 'AGENT') = ("api_key"."account_id" IS NULL) AND ("api_key"."machine_id" IS NULL OR "api_key"."scope" = 'AGENT'));
ALTER TABLE "api_key" ADD COLUMN "authority_digest" text;--> statement-breakpoint
ALTER TABLE "installation" ADD COLUMN "next_authority_certificate" text;--> statement-breakpoint
ALTER TABLE "installation" ADD COLUMN "next_authority_key_sealed" "bytea";--> statement-breakpoint
ALTER TABLE "installation" ADD COLUMN "next_authority_at" timestamp with time zone;--> statement-breakpoint
ALTER TABLE "installation" ADD COLUMN "previous_authority_certificate" text;
CREATE TABLE "join_token" (
	"id" text PRIMARY KEY NOT NULL,
	"secret_hash" "bytea" NOT NULL,
	"pool" text DEFAULT '' NOT NULL,
	"locations" text[] DEFAULT '{}' NOT NULL,
	"uses_max" integer NOT NULL,
	"uses" integer DEFAULT 0 NOT NULL,
	"created_at" timestamp with time zone DEFAULT now() NOT NULL,
	"expires_at" timestamp with time zone NOT NULL,
	"revoked_at" timestamp with time zone,
	CONSTRAINT "join_token_secret_hash_unique" UNIQUE("secret_hash"),
	CONSTRAINT "join_token_uses_fit" CHECK ("join_token"."uses" BETWEEN 0 AND "join_token"."uses_max")
);
--> statement-breakpoint
ALTER TABLE "api_key" ADD COLUMN "join_token_id" text;--> statement-breakpoint
ALTER TABLE "installation" ADD COLUMN "authority_certificate" text;--> statement-breakpoint
ALTER TABLE "installation" ADD COLUMN "authority_key_sealed" "bytea";--> statement-breakpoint
CREATE INDEX "join_token_expiry_idx" ON "join_token" USING btree ("expires_at");--> statement-breakpoint
ALTER TABLE "installation" ADD CONSTRAINT "installation_authority_whole" CHECK (("installation"."authority_certificate" IS NULL) = ("installation"."authority_key_sealed" IS NULL));
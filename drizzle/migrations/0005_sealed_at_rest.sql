CREATE TABLE "installation" (
	"only" boolean PRIMARY KEY DEFAULT true NOT NULL,
	"secret_key_fingerprint" "bytea" NOT NULL,
	"plain_sealed_at" timestamp with time zone,
	CONSTRAINT "installation_one_row" CHECK ("installation"."only")
);
--> statement-breakpoint
ALTER TABLE "webhook_delivery" ALTER COLUMN "url" SET DEFAULT '';--> statement-breakpoint
ALTER TABLE "endpoint" ADD COLUMN "env_sealed" "bytea";--> statement-breakpoint
ALTER TABLE "job_input" ADD COLUMN "webhook_sealed" "bytea";--> statement-breakpoint
ALTER TABLE "pod" ADD COLUMN "env_sealed" "bytea";--> statement-breakpoint
ALTER TABLE "template" ADD COLUMN "env_sealed" "bytea";--> statement-breakpoint
ALTER TABLE "webhook_delivery" ADD COLUMN "url_sealed" "bytea";
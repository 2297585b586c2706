CREATE TABLE "endpoint_model" (
	"endpoint_id" text NOT NULL,
	"version" integer NOT NULL,
	"repository" text NOT NULL,
	"revision" text NOT NULL,
	"commit" text NOT NULL,
	"settled_at" timestamp with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "endpoint_model_endpoint_id_version_repository_revision_pk" PRIMARY KEY("endpoint_id","version","repository","revision")
);
--> statement-breakpoint
CREATE TABLE "machine_model" (
	"machine_id" text NOT NULL,
	"account_number" integer NOT NULL,
	"repository" text NOT NULL,
	"revision" text NOT NULL,
	"commit" text NOT NULL,
	"state" text NOT NULL,
	"size_bytes" bigint NOT NULL,
	"downloaded_bytes" bigint NOT NULL,
	"fault" text NOT NULL,
	"error" text NOT NULL,
	CONSTRAINT "machine_model_machine_id_account_number_repository_revision_pk" PRIMARY KEY("machine_id","account_number","repository","revision"),
	CONSTRAINT "machine_model_state_known" CHECK ("machine_model"."state" IN ('DOWNLOADING', 'READY', 'FAILED'))
);
--> statement-breakpoint
ALTER TABLE "endpoint_version" ADD COLUMN "model_references" text[] DEFAULT '{}' NOT NULL;--> statement-breakpoint
ALTER TABLE "endpoint" ADD COLUMN "model_references" text[] DEFAULT '{}' NOT NULL;--> statement-breakpoint
ALTER TABLE "machine" ADD COLUMN "model_limit_bytes" bigint DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE "machine" ADD COLUMN "model_used_bytes" bigint DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE "machine" ADD COLUMN "model_peer_address" text DEFAULT '' NOT NULL;--> statement-breakpoint
ALTER TABLE "endpoint_model" ADD CONSTRAINT "endpoint_model_endpoint_id_endpoint_id_fk" FOREIGN KEY ("endpoint_id") REFERENCES "public"."endpoint"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "machine_model" ADD CONSTRAINT "machine_model_machine_id_machine_id_fk" FOREIGN KEY ("machine_id") REFERENCES "public"."machine"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "machine_model_repository_idx" ON "machine_model" USING btree ("repository");
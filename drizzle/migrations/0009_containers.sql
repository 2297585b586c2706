CREATE TABLE "endpoint_image" (
	"endpoint_id" text NOT NULL,
	"version" integer NOT NULL,
	"image_name" text NOT NULL,
	"digest" text NOT NULL,
	"settled_at" timestamp with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "endpoint_image_endpoint_id_version_image_name_pk" PRIMARY KEY("endpoint_id","version","image_name")
);
--> statement-breakpoint
CREATE TABLE "machine_image" (
	"machine_id" text NOT NULL,
	"name" text NOT NULL,
	"digest" text NOT NULL,
	"size_bytes" bigint NOT NULL,
	CONSTRAINT "machine_image_machine_id_name_pk" PRIMARY KEY("machine_id","name")
);
--> statement-breakpoint
ALTER TABLE "machine" ADD COLUMN "runs_commands" boolean DEFAULT true NOT NULL;--> statement-breakpoint
ALTER TABLE "machine" ADD COLUMN "engine" jsonb;--> statement-breakpoint
ALTER TABLE "machine" ADD COLUMN "no_engine_reason" text DEFAULT '' NOT NULL;--> statement-breakpoint
ALTER TABLE "pod" ADD COLUMN "image_digest" text DEFAULT '' NOT NULL;--> statement-breakpoint
ALTER TABLE "pod" ADD COLUMN "image_digest_run" integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE "endpoint_image" ADD CONSTRAINT "endpoint_image_endpoint_id_endpoint_id_fk" FOREIGN KEY ("endpoint_id") REFERENCES "public"."endpoint"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "machine_image" ADD CONSTRAINT "machine_image_machine_id_machine_id_fk" FOREIGN KEY ("machine_id") REFERENCES "public"."machine"("id") ON DELETE cascade ON UPDATE no action;
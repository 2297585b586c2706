CREATE TABLE "endpoint_release" (
	"id" bigserial PRIMARY KEY NOT NULL,
	"endpoint_id" text NOT NULL,
	"version" integer NOT NULL,
	"is_new" boolean NOT NULL,
	"at" timestamp with time zone DEFAULT now() NOT NULL,
	"key_id" text NOT NULL,
	"action" text NOT NULL,
	"fields" text[] DEFAULT '{}' NOT NULL
);
--> statement-breakpoint
ALTER TABLE "endpoint_release" ADD CONSTRAINT "endpoint_release_endpoint_id_endpoint_id_fk" FOREIGN KEY ("endpoint_id") REFERENCES "public"."endpoint"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "endpoint_release_endpoint_idx" ON "endpoint_release" USING btree ("endpoint_id","id");
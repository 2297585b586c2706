CREATE TABLE "scale_decision" (
	"endpoint_id" text PRIMARY KEY NOT NULL,
	"target" integer NOT NULL,
	"throttled" integer NOT NULL,
	"reason" text NOT NULL,
	"decided_at" timestamp with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
ALTER TABLE "worker" ADD COLUMN "ended_at" timestamp with time zone;--> statement-breakpoint
ALTER TABLE "scale_decision" ADD CONSTRAINT "scale_decision_endpoint_id_endpoint_id_fk" FOREIGN KEY ("endpoint_id") REFERENCES "public"."endpoint"("id") ON DELETE cascade ON UPDATE no action;
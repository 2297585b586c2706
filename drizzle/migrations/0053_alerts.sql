CREATE TABLE "alert" (
	"id" bigserial PRIMARY KEY NOT NULL,
	"account_id" text NOT NULL,
	"identity" text NOT NULL,
	"problem" jsonb NOT NULL,
	"began_at" timestamp with time zone DEFAULT now() NOT NULL,
	"seen_at" timestamp with time zone DEFAULT now() NOT NULL,
	"announced_at" timestamp with time zone,
	"ended_at" timestamp with time zone
);
--> statement-breakpoint
CREATE TABLE "alert_call" (
	"target_id" text NOT NULL,
	"alert_id" bigint NOT NULL,
	"of_end" boolean NOT NULL,
	"due_at" timestamp with time zone DEFAULT now() NOT NULL,
	"tries" integer DEFAULT 0 NOT NULL,
	CONSTRAINT "alert_call_target_id_alert_id_of_end_pk" PRIMARY KEY("target_id","alert_id","of_end")
);
--> statement-breakpoint
CREATE TABLE "alert_target" (
	"id" text PRIMARY KEY NOT NULL,
	"account_id" text NOT NULL,
	"name" text NOT NULL,
	"kind" text NOT NULL,
	"host" text NOT NULL,
	"url_sealed" "bytea" NOT NULL,
	"created_at" timestamp with time zone DEFAULT now() NOT NULL,
	"silent_until" timestamp with time zone,
	"delivered_at" timestamp with time zone,
	"last_error" text DEFAULT '' NOT NULL
);
--> statement-breakpoint
ALTER TABLE "alert_call" ADD CONSTRAINT "alert_call_target_id_alert_target_id_fk" FOREIGN KEY ("target_id") REFERENCES "public"."alert_target"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "alert_call" ADD CONSTRAINT "alert_call_alert_id_alert_id_fk" FOREIGN KEY ("alert_id") REFERENCES "public"."alert"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE UNIQUE INDEX "alert_lasting_idx" ON "alert" USING btree ("account_id","identity") WHERE "alert"."ended_at" IS NULL;--> statement-breakpoint
CREATE INDEX "alert_history_idx" ON "alert" USING btree ("account_id","id");--> statement-breakpoint
CREATE INDEX "alert_ended_idx" ON "alert" USING btree ("ended_at") WHERE "alert"."ended_at" IS NOT NULL;--> statement-breakpoint
CREATE INDEX "alert_call_due_idx" ON "alert_call" USING btree ("due_at");--> statement-breakpoint
CREATE INDEX "alert_target_account_idx" ON "alert_target" USING btree ("account_id","created_at");
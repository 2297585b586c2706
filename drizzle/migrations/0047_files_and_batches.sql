CREATE TABLE "account_file" (
	"id" text PRIMARY KEY NOT NULL,
	"account_id" text NOT NULL,
	"key_id" text NOT NULL,
	"purpose" text NOT NULL,
	"filename" text NOT NULL,
	"bytes" bigint DEFAULT 0 NOT NULL,
	"state" text NOT NULL,
	"batch_id" text,
	"side" text,
	"created_at" timestamp with time zone DEFAULT now() NOT NULL,
	"written_at" timestamp with time zone DEFAULT now() NOT NULL,
	"expires_at" timestamp with time zone,
	CONSTRAINT "account_file_state_known" CHECK ("account_file"."state" IN ('UPLOADING', 'READY', 'DELETED'))
);
--> statement-breakpoint
CREATE TABLE "file_piece" (
	"file_id" text NOT NULL,
	"start" bigint NOT NULL,
	"bytes" integer NOT NULL,
	"content_sealed" "bytea" NOT NULL,
	CONSTRAINT "file_piece_file_id_start_pk" PRIMARY KEY("file_id","start")
);
--> statement-breakpoint
CREATE TABLE "batch" (
	"id" text PRIMARY KEY NOT NULL,
	"account_id" text NOT NULL,
	"key_id" text NOT NULL,
	"endpoint_ids" text[] DEFAULT '{}' NOT NULL,
	"kind" text NOT NULL,
	"route" text DEFAULT '' NOT NULL,
	"model" text DEFAULT '' NOT NULL,
	"endpoint_id" text DEFAULT '' NOT NULL,
	"file_id" text NOT NULL,
	"state" text NOT NULL,
	"metadata" jsonb DEFAULT '{}'::jsonb NOT NULL,
	"faults" jsonb DEFAULT '[]'::jsonb NOT NULL,
	"stalled" text DEFAULT '' NOT NULL,
	"read_bytes" bigint DEFAULT 0 NOT NULL,
	"read_lines" integer DEFAULT 0 NOT NULL,
	"total" integer DEFAULT 0 NOT NULL,
	"completed" integer DEFAULT 0 NOT NULL,
	"failed" integer DEFAULT 0 NOT NULL,
	"result_bytes" bigint DEFAULT 0 NOT NULL,
	"result_seconds" integer NOT NULL,
	"window_ms" bigint NOT NULL,
	"created_at" timestamp with time zone DEFAULT now() NOT NULL,
	"started_at" timestamp with time zone,
	"cancelling_at" timestamp with time zone,
	"ended_at" timestamp with time zone,
	"expires_at" timestamp with time zone NOT NULL,
	CONSTRAINT "batch_state_known" CHECK ("batch"."state" IN ('DRAFT', 'VALIDATING', 'IN_PROGRESS', 'EXPIRING', 'CANCELLING', 'COMPLETED', 'FAILED',
    'EXPIRED', 'CANCELLED')),
	CONSTRAINT "batch_ended_at_matches_state" CHECK (("batch"."ended_at" IS NOT NULL) = ("batch"."state" IN ('COMPLETED', 'FAILED', 'EXPIRED', 'CANCELLED')))
);
--> statement-breakpoint
CREATE TABLE "batch_item" (
	"batch_id" text NOT NULL,
	"number" integer NOT NULL,
	"custom_id" text NOT NULL,
	"state" text DEFAULT 'PENDING' NOT NULL,
	"start" bigint NOT NULL,
	"bytes" integer NOT NULL,
	"endpoint_id" text,
	"job_id" text,
	"started_at" timestamp with time zone,
	"ended_at" timestamp with time zone,
	CONSTRAINT "batch_item_batch_id_number_pk" PRIMARY KEY("batch_id","number"),
	CONSTRAINT "batch_item_state_known" CHECK ("batch_item"."state" IN ('PENDING', 'SUBMITTED', 'COMPLETED', 'FAILED', 'EXPIRED', 'CANCELLED')),
	CONSTRAINT "batch_item_has_job" CHECK ("batch_item"."state" <> 'SUBMITTED' OR "batch_item"."job_id" IS NOT NULL)
);
--> statement-breakpoint
CREATE TABLE "batch_result" (
	"batch_id" text NOT NULL,
	"side" text NOT NULL,
	"number" integer NOT NULL,
	"piece" integer NOT NULL,
	"bytes" integer NOT NULL,
	"content_sealed" "bytea" NOT NULL,
	CONSTRAINT "batch_result_batch_id_side_number_piece_pk" PRIMARY KEY("batch_id","side","number","piece")
);
--> statement-breakpoint
ALTER TABLE "job_input" ADD COLUMN "batch_id" text;--> statement-breakpoint
ALTER TABLE "account_file" ADD CONSTRAINT "account_file_account_id_account_id_fk" FOREIGN KEY ("account_id") REFERENCES "public"."account"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "account_file" ADD CONSTRAINT "account_file_batch_id_batch_id_fk" FOREIGN KEY ("batch_id") REFERENCES "public"."batch"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "file_piece" ADD CONSTRAINT "file_piece_file_id_account_file_id_fk" FOREIGN KEY ("file_id") REFERENCES "public"."account_file"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "batch" ADD CONSTRAINT "batch_account_id_account_id_fk" FOREIGN KEY ("account_id") REFERENCES "public"."account"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "batch_item" ADD CONSTRAINT "batch_item_batch_id_batch_id_fk" FOREIGN KEY ("batch_id") REFERENCES "public"."batch"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "batch_result" ADD CONSTRAINT "batch_result_batch_id_batch_id_fk" FOREIGN KEY ("batch_id") REFERENCES "public"."batch"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "account_file_list_idx" ON "account_file" USING btree ("account_id","created_at","id");--> statement-breakpoint
CREATE INDEX "account_file_batch_idx" ON "account_file" USING btree ("batch_id");--> statement-breakpoint
CREATE INDEX "account_file_expires_idx" ON "account_file" USING btree ("expires_at");--> statement-breakpoint
CREATE INDEX "account_file_unfinished_idx" ON "account_file" USING btree ("written_at") WHERE "account_file"."state" <> 'READY';--> statement-breakpoint
CREATE INDEX "batch_list_idx" ON "batch" USING btree ("account_id","created_at","id");--> statement-breakpoint
CREATE INDEX "batch_endpoint_idx" ON "batch" USING btree ("endpoint_id","created_at");--> statement-breakpoint
CREATE INDEX "batch_active_idx" ON "batch" USING btree ("created_at") WHERE "batch"."ended_at" IS NULL;--> statement-breakpoint
CREATE INDEX "batch_ended_idx" ON "batch" USING btree ("ended_at") WHERE "batch"."ended_at" IS NOT NULL;--> statement-breakpoint
CREATE UNIQUE INDEX "batch_item_custom_id_idx" ON "batch_item" USING btree ("batch_id","custom_id");--> statement-breakpoint
CREATE INDEX "batch_item_open_idx" ON "batch_item" USING btree ("batch_id","state","number") WHERE "batch_item"."state" IN ('PENDING', 'SUBMITTED');
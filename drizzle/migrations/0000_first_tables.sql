CREATE TABLE "account" (
	"id" text PRIMARY KEY NOT NULL,
	"name" text NOT NULL,
	"created_at" timestamp with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "account_name_unique" UNIQUE("name")
);
--> statement-breakpoint
CREATE TABLE "api_key" (
	"id" text PRIMARY KEY NOT NULL,
	"account_id" text NOT NULL,
	"name" text NOT NULL,
	"secret_hash" "bytea" NOT NULL,
	"scope" text NOT NULL,
	"endpoint_ids" text[] DEFAULT '{}' NOT NULL,
	"created_at" timestamp with time zone DEFAULT now() NOT NULL,
	"revoked_at" timestamp with time zone,
	CONSTRAINT "api_key_secret_hash_unique" UNIQUE("secret_hash"),
	CONSTRAINT "api_key_scope_known" CHECK ("api_key"."scope" IN ('ALL', 'READ_ONLY', 'AGENT'))
);
--> statement-breakpoint
CREATE TABLE "endpoint" (
	"id" text PRIMARY KEY NOT NULL,
	"account_id" text NOT NULL,
	"request_id" text,
	"name" text NOT NULL,
	"template_id" text NOT NULL,
	"type" text DEFAULT 'QB' NOT NULL,
	"gpu_ids" text[] DEFAULT '{}' NOT NULL,
	"gpu_count" integer DEFAULT 1 NOT NULL,
	"workers_min" integer DEFAULT 0 NOT NULL,
	"workers_max" integer DEFAULT 3 NOT NULL,
	"idle_timeout_seconds" integer DEFAULT 5 NOT NULL,
	"scaler_type" text DEFAULT 'QUEUE_DELAY' NOT NULL,
	"scaler_value" integer DEFAULT 4 NOT NULL,
	"execution_timeout_ms" bigint DEFAULT 600000 NOT NULL,
	"flash_boot_type" text DEFAULT 'OFF' NOT NULL,
	"locations" text[] DEFAULT '{}' NOT NULL,
	"network_volume_ids" text[] DEFAULT '{}' NOT NULL,
	"env" jsonb DEFAULT '{}'::jsonb NOT NULL,
	"retry_limit" integer DEFAULT 2 NOT NULL,
	"retry_handler_errors" boolean DEFAULT false NOT NULL,
	"worker_concurrency" integer DEFAULT 1 NOT NULL,
	"compute_type" text DEFAULT 'GPU' NOT NULL,
	"allowed_cuda_versions" text[] DEFAULT '{}' NOT NULL,
	"webhook_secret_sealed" "bytea",
	"version" integer DEFAULT 0 NOT NULL,
	"created_at" timestamp with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "endpoint_request_unique" UNIQUE("account_id","request_id"),
	CONSTRAINT "endpoint_type_known" CHECK ("endpoint"."type" IN ('QB', 'LB')),
	CONSTRAINT "endpoint_workers_in_order" CHECK (0 <= "endpoint"."workers_min" AND "endpoint"."workers_min" <= "endpoint"."workers_max")
);
--> statement-breakpoint
CREATE TABLE "endpoint_counter" (
	"endpoint_id" text PRIMARY KEY NOT NULL,
	"completed" bigint DEFAULT 0 NOT NULL,
	"failed" bigint DEFAULT 0 NOT NULL,
	"retried" bigint DEFAULT 0 NOT NULL
);
--> statement-breakpoint
CREATE TABLE "idempotency_key" (
	"endpoint_id" text NOT NULL,
	"key_hash" "bytea" NOT NULL,
	"body_hash" "bytea" NOT NULL,
	"job_id" text NOT NULL,
	"expires_at" timestamp with time zone NOT NULL,
	CONSTRAINT "idempotency_key_endpoint_id_key_hash_pk" PRIMARY KEY("endpoint_id","key_hash")
);
--> statement-breakpoint
CREATE TABLE "job" (
	"endpoint_id" text NOT NULL,
	"id" text NOT NULL,
	"state" text NOT NULL,
	"position" bigserial NOT NULL,
	"low_priority" boolean NOT NULL,
	"attempt" integer DEFAULT 0 NOT NULL,
	"retries" integer DEFAULT 0 NOT NULL,
	"machine_id" text,
	"worker_id" text,
	"claim_id" uuid,
	"has_webhook" boolean DEFAULT false NOT NULL,
	"execution_timeout_ms" bigint NOT NULL,
	"retention_ms" bigint NOT NULL,
	"submitted_at" timestamp with time zone NOT NULL,
	"started_at" timestamp with time zone,
	"finished_at" timestamp with time zone,
	"execution_deadline_at" timestamp with time zone,
	"ttl_deadline_at" timestamp with time zone NOT NULL,
	"expires_at" timestamp with time zone NOT NULL,
	CONSTRAINT "job_endpoint_id_id_pk" PRIMARY KEY("endpoint_id","id"),
	CONSTRAINT "job_state_known" CHECK ("job"."state" IN ('IN_QUEUE', 'IN_PROGRESS', 'COMPLETED', 'FAILED', 'CANCELLED', 'TIMED_OUT')),
	CONSTRAINT "job_finished_at_matches_state" CHECK (("job"."finished_at" IS NOT NULL) = ("job"."state" IN ('COMPLETED', 'FAILED', 'CANCELLED', 'TIMED_OUT'))),
	CONSTRAINT "job_lease_matches_state" CHECK ("job"."state" <> 'IN_PROGRESS' OR ("job"."machine_id" IS NOT NULL AND "job"."worker_id" IS NOT NULL
    AND "job"."started_at" IS NOT NULL AND "job"."execution_deadline_at" IS NOT NULL AND "job"."attempt" > 0)),
	CONSTRAINT "job_queue_has_no_lease" CHECK ("job"."state" <> 'IN_QUEUE' OR ("job"."execution_deadline_at" IS NULL AND "job"."machine_id" IS NULL))
);
--> statement-breakpoint
CREATE TABLE "job_chunk" (
	"endpoint_id" text NOT NULL,
	"job_id" text NOT NULL,
	"attempt" integer NOT NULL,
	"number" integer NOT NULL,
	"output" "bytea" NOT NULL,
	"metrics" "bytea",
	CONSTRAINT "job_chunk_endpoint_id_job_id_attempt_number_pk" PRIMARY KEY("endpoint_id","job_id","attempt","number")
);
--> statement-breakpoint
CREATE TABLE "job_input" (
	"endpoint_id" text NOT NULL,
	"job_id" text NOT NULL,
	"input" "bytea" NOT NULL,
	"webhook" text,
	"s3_config_sealed" "bytea",
	CONSTRAINT "job_input_endpoint_id_job_id_pk" PRIMARY KEY("endpoint_id","job_id")
);
--> statement-breakpoint
CREATE TABLE "job_output" (
	"endpoint_id" text NOT NULL,
	"job_id" text NOT NULL,
	"output" "bytea",
	"error" text,
	CONSTRAINT "job_output_endpoint_id_job_id_pk" PRIMARY KEY("endpoint_id","job_id")
);
--> statement-breakpoint
CREATE TABLE "stream_cursor" (
	"endpoint_id" text NOT NULL,
	"job_id" text NOT NULL,
	"attempt" integer NOT NULL,
	"number" integer NOT NULL,
	CONSTRAINT "stream_cursor_endpoint_id_job_id_pk" PRIMARY KEY("endpoint_id","job_id")
);
--> statement-breakpoint
CREATE TABLE "machine" (
	"id" text PRIMARY KEY NOT NULL,
	"name" text NOT NULL,
	"gpus" jsonb DEFAULT '[]'::jsonb NOT NULL,
	"locations" text[] DEFAULT '{}' NOT NULL,
	"cpu_slots" integer DEFAULT 0 NOT NULL,
	"agent_version" text DEFAULT '' NOT NULL,
	"cuda_version" text DEFAULT '' NOT NULL,
	"session_id" text,
	"replica_address" text DEFAULT '' NOT NULL,
	"lease_expires_at" timestamp with time zone DEFAULT now() NOT NULL,
	"seen_at" timestamp with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "scale_decision" (
	"endpoint_id" text PRIMARY KEY NOT NULL,
	"target" integer NOT NULL,
	"throttled" integer NOT NULL,
	"reason" text NOT NULL,
	"decided_at" timestamp with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "template" (
	"id" text PRIMARY KEY NOT NULL,
	"account_id" text NOT NULL,
	"name" text NOT NULL,
	"image_name" text DEFAULT '' NOT NULL,
	"start_command" text[] DEFAULT '{}' NOT NULL,
	"entrypoint" text[] DEFAULT '{}' NOT NULL,
	"env" jsonb DEFAULT '{}'::jsonb NOT NULL,
	"working_directory" text DEFAULT '' NOT NULL,
	"container_disk_gb" integer DEFAULT 50 NOT NULL,
	"volume_gb" integer DEFAULT 0 NOT NULL,
	"volume_mount_path" text DEFAULT '/workspace' NOT NULL,
	"ports" text[] DEFAULT '{}' NOT NULL,
	"registry_auth_id" text,
	"serverless" boolean DEFAULT true NOT NULL,
	"public" boolean DEFAULT false NOT NULL,
	"readme" text DEFAULT '' NOT NULL,
	"category" text DEFAULT 'NVIDIA' NOT NULL,
	"created_at" timestamp with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "template_name_unique" UNIQUE("account_id","name")
);
--> statement-breakpoint
CREATE TABLE "webhook_delivery" (
	"id" bigserial NOT NULL,
	"endpoint_id" text NOT NULL,
	"job_id" text NOT NULL,
	"url" text NOT NULL,
	"body" "bytea" NOT NULL,
	"tries" integer DEFAULT 0 NOT NULL,
	"due_at" timestamp with time zone DEFAULT now() NOT NULL,
	"last_error" text DEFAULT '' NOT NULL,
	CONSTRAINT "webhook_delivery_endpoint_id_id_pk" PRIMARY KEY("endpoint_id","id"),
	CONSTRAINT "webhook_delivery_tries_bounded" CHECK ("webhook_delivery"."tries" BETWEEN 0 AND 3)
);
--> statement-breakpoint
CREATE TABLE "worker" (
	"id" text PRIMARY KEY NOT NULL,
	"endpoint_id" text NOT NULL,
	"machine_id" text NOT NULL,
	"desired" text DEFAULT 'RUN' NOT NULL,
	"state" text DEFAULT 'INITIALIZING' NOT NULL,
	"capacity" integer DEFAULT 0 NOT NULL,
	"version" integer NOT NULL,
	"gpu_uuids" text[] DEFAULT '{}' NOT NULL,
	"reason" text DEFAULT '' NOT NULL,
	"exit_code" integer,
	"sdk_version" text DEFAULT '' NOT NULL,
	"failures" integer DEFAULT 0 NOT NULL,
	"retry_at" timestamp with time zone,
	"busy_at" timestamp with time zone DEFAULT now() NOT NULL,
	"created_at" timestamp with time zone DEFAULT now() NOT NULL,
	"ended_at" timestamp with time zone,
	CONSTRAINT "worker_desired_known" CHECK ("worker"."desired" IN ('RUN', 'DRAIN', 'GONE')),
	CONSTRAINT "worker_state_known" CHECK ("worker"."state" IN ('INITIALIZING', 'READY', 'DRAINING', 'UNHEALTHY', 'STOPPED'))
);
--> statement-breakpoint
ALTER TABLE "api_key" ADD CONSTRAINT "api_key_account_id_account_id_fk" FOREIGN KEY ("account_id") REFERENCES "public"."account"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "endpoint" ADD CONSTRAINT "endpoint_account_id_account_id_fk" FOREIGN KEY ("account_id") REFERENCES "public"."account"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "endpoint" ADD CONSTRAINT "endpoint_template_id_template_id_fk" FOREIGN KEY ("template_id") REFERENCES "public"."template"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "endpoint_counter" ADD CONSTRAINT "endpoint_counter_endpoint_id_endpoint_id_fk" FOREIGN KEY ("endpoint_id") REFERENCES "public"."endpoint"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "scale_decision" ADD CONSTRAINT "scale_decision_endpoint_id_endpoint_id_fk" FOREIGN KEY ("endpoint_id") REFERENCES "public"."endpoint"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "template" ADD CONSTRAINT "template_account_id_account_id_fk" FOREIGN KEY ("account_id") REFERENCES "public"."account"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "worker" ADD CONSTRAINT "worker_endpoint_id_endpoint_id_fk" FOREIGN KEY ("endpoint_id") REFERENCES "public"."endpoint"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "worker" ADD CONSTRAINT "worker_machine_id_machine_id_fk" FOREIGN KEY ("machine_id") REFERENCES "public"."machine"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "api_key_account_idx" ON "api_key" USING btree ("account_id");--> statement-breakpoint
CREATE INDEX "endpoint_account_idx" ON "endpoint" USING btree ("account_id","created_at");--> statement-breakpoint
CREATE INDEX "endpoint_template_idx" ON "endpoint" USING btree ("template_id");--> statement-breakpoint
CREATE INDEX "idempotency_key_expires_idx" ON "idempotency_key" USING btree ("expires_at");--> statement-breakpoint
CREATE INDEX "job_claim_idx" ON "job" USING btree ("endpoint_id","low_priority","position") WHERE "job"."state" = 'IN_QUEUE';--> statement-breakpoint
CREATE INDEX "job_running_idx" ON "job" USING btree ("endpoint_id","worker_id") WHERE "job"."state" = 'IN_PROGRESS';--> statement-breakpoint
CREATE INDEX "job_machine_idx" ON "job" USING btree ("machine_id") WHERE "job"."state" = 'IN_PROGRESS';--> statement-breakpoint
CREATE INDEX "job_execution_deadline_idx" ON "job" USING btree ("execution_deadline_at") WHERE "job"."state" = 'IN_PROGRESS';--> statement-breakpoint
CREATE INDEX "job_expires_idx" ON "job" USING btree ("expires_at");--> statement-breakpoint
CREATE INDEX "machine_lease_idx" ON "machine" USING btree ("lease_expires_at");--> statement-breakpoint
CREATE INDEX "webhook_delivery_due_idx" ON "webhook_delivery" USING btree ("due_at");--> statement-breakpoint
CREATE INDEX "worker_endpoint_idx" ON "worker" USING btree ("endpoint_id");--> statement-breakpoint
CREATE INDEX "worker_machine_idx" ON "worker" USING btree ("machine_id");
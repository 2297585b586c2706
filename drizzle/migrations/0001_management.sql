CREATE TABLE "audit_event" (
	"id" bigserial PRIMARY KEY NOT NULL,
	"account_id" text NOT NULL,
	"at" timestamp with time zone DEFAULT now() NOT NULL,
	"key_id" text NOT NULL,
	"action" text NOT NULL,
	"subject_id" text NOT NULL,
	"fields" text[] DEFAULT '{}' NOT NULL
);
--> statement-breakpoint
CREATE TABLE "network_volume" (
	"id" text PRIMARY KEY NOT NULL,
	"account_id" text NOT NULL,
	"name" text NOT NULL,
	"size_gb" integer NOT NULL,
	"data_center_id" text NOT NULL,
	"created_at" timestamp with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "network_volume_size_in_range" CHECK ("network_volume"."size_gb" BETWEEN 0 AND 4000)
);
--> statement-breakpoint
CREATE TABLE "pod" (
	"id" text PRIMARY KEY NOT NULL,
	"account_id" text NOT NULL,
	"name" text NOT NULL,
	"template_id" text DEFAULT '' NOT NULL,
	"image_name" text DEFAULT '' NOT NULL,
	"start_command" text[] DEFAULT '{}' NOT NULL,
	"entrypoint" text[] DEFAULT '{}' NOT NULL,
	"env" jsonb DEFAULT '{}'::jsonb NOT NULL,
	"working_directory" text DEFAULT '' NOT NULL,
	"container_disk_gb" integer DEFAULT 50 NOT NULL,
	"volume_gb" integer DEFAULT 20 NOT NULL,
	"volume_mount_path" text DEFAULT '/workspace' NOT NULL,
	"ports" text[] DEFAULT '{}' NOT NULL,
	"registry_auth_id" text,
	"network_volume_id" text,
	"gpu_ids" text[] DEFAULT '{}' NOT NULL,
	"gpu_count" integer DEFAULT 1 NOT NULL,
	"compute_type" text DEFAULT 'GPU' NOT NULL,
	"locations" text[] DEFAULT '{}' NOT NULL,
	"allowed_cuda_versions" text[] DEFAULT '{}' NOT NULL,
	"locked" boolean DEFAULT false NOT NULL,
	"interruptible" boolean DEFAULT false NOT NULL,
	"machine_id" text NOT NULL,
	"gpu_uuids" text[] DEFAULT '{}' NOT NULL,
	"gpu_type_id" text DEFAULT '' NOT NULL,
	"desired" text DEFAULT 'RUNNING' NOT NULL,
	"run" integer DEFAULT 1 NOT NULL,
	"disk" integer DEFAULT 1 NOT NULL,
	"state" text DEFAULT 'STARTING' NOT NULL,
	"status_text" text DEFAULT '' NOT NULL,
	"exit_code" integer,
	"created_at" timestamp with time zone DEFAULT now() NOT NULL,
	"last_started_at" timestamp with time zone DEFAULT now() NOT NULL,
	"state_changed_at" timestamp with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "pod_desired_known" CHECK ("pod"."desired" IN ('RUNNING', 'EXITED')),
	CONSTRAINT "pod_state_known" CHECK ("pod"."state" IN ('STARTING', 'RUNNING', 'EXITED', 'FAILED')),
	CONSTRAINT "pod_exited_holds_no_gpu" CHECK ("pod"."desired" = 'RUNNING' OR "pod"."gpu_uuids" = '{}')
);
--> statement-breakpoint
CREATE TABLE "price" (
	"item" text PRIMARY KEY NOT NULL,
	"usd_per_hour" double precision NOT NULL,
	CONSTRAINT "price_in_range" CHECK ("price"."usd_per_hour" BETWEEN 0 AND 1000000)
);
--> statement-breakpoint
CREATE TABLE "registry_auth" (
	"id" text PRIMARY KEY NOT NULL,
	"account_id" text NOT NULL,
	"name" text NOT NULL,
	"credentials_sealed" "bytea" NOT NULL,
	"created_at" timestamp with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "registry_auth_name_unique" UNIQUE("account_id","name")
);
--> statement-breakpoint
CREATE TABLE "usage_span" (
	"id" bigserial PRIMARY KEY NOT NULL,
	"account_id" text NOT NULL,
	"kind" text NOT NULL,
	"subject_id" text NOT NULL,
	"endpoint_id" text DEFAULT '' NOT NULL,
	"template_id" text DEFAULT '' NOT NULL,
	"image_name" text DEFAULT '' NOT NULL,
	"locations" text[] DEFAULT '{}' NOT NULL,
	"gpu_type_id" text DEFAULT '' NOT NULL,
	"gpu_count" integer DEFAULT 0 NOT NULL,
	"disk_gb" integer DEFAULT 0 NOT NULL,
	"usd_per_hour" double precision DEFAULT 0 NOT NULL,
	"started_at" timestamp with time zone DEFAULT now() NOT NULL,
	"ended_at" timestamp with time zone,
	CONSTRAINT "usage_span_kind_known" CHECK ("usage_span"."kind" IN ('WORKER', 'POD', 'VOLUME'))
);
--> statement-breakpoint
ALTER TABLE "api_key" DROP CONSTRAINT "api_key_scope_known";--> statement-breakpoint
ALTER TABLE "account" ADD COLUMN "public_key" text DEFAULT '' NOT NULL;--> statement-breakpoint
ALTER TABLE "api_key" ADD COLUMN "management" text DEFAULT 'NONE' NOT NULL;--> statement-breakpoint
ALTER TABLE "api_key" ADD COLUMN "jobs" text DEFAULT 'NONE' NOT NULL;--> statement-breakpoint
ALTER TABLE "machine" ADD COLUMN "cpu_count" integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE "machine" ADD COLUMN "memory_mib" bigint DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE "audit_event" ADD CONSTRAINT "audit_event_account_id_account_id_fk" FOREIGN KEY ("account_id") REFERENCES "public"."account"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "network_volume" ADD CONSTRAINT "network_volume_account_id_account_id_fk" FOREIGN KEY ("account_id") REFERENCES "public"."account"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "pod" ADD CONSTRAINT "pod_account_id_account_id_fk" FOREIGN KEY ("account_id") REFERENCES "public"."account"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "pod" ADD CONSTRAINT "pod_machine_id_machine_id_fk" FOREIGN KEY ("machine_id") REFERENCES "public"."machine"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "registry_auth" ADD CONSTRAINT "registry_auth_account_id_account_id_fk" FOREIGN KEY ("account_id") REFERENCES "public"."account"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "usage_span" ADD CONSTRAINT "usage_span_account_id_account_id_fk" FOREIGN KEY ("account_id") REFERENCES "public"."account"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "audit_event_account_idx" ON "audit_event" USING btree ("account_id","id");--> statement-breakpoint
CREATE INDEX "audit_event_subject_idx" ON "audit_event" USING btree ("account_id","subject_id","id");--> statement-breakpoint
CREATE INDEX "network_volume_account_idx" ON "network_volume" USING btree ("account_id","created_at");--> statement-breakpoint
CREATE INDEX "pod_account_idx" ON "pod" USING btree ("account_id","created_at");--> statement-breakpoint
CREATE INDEX "pod_machine_idx" ON "pod" USING btree ("machine_id");--> statement-breakpoint
CREATE INDEX "usage_span_account_idx" ON "usage_span" USING btree ("account_id","kind","started_at");--> statement-breakpoint
CREATE UNIQUE INDEX "usage_span_open_unique" ON "usage_span" USING btree ("kind","subject_id") WHERE "usage_span"."ended_at" IS NULL;--> statement-breakpoint
ALTER TABLE "api_key" ADD CONSTRAINT "api_key_permissions_known" CHECK ("api_key"."management" IN ('NONE', 'READ', 'READ_WRITE') AND "api_key"."jobs" IN ('NONE', 'READ', 'READ_WRITE'));--> statement-breakpoint
ALTER TABLE "api_key" ADD CONSTRAINT "api_key_scope_known" CHECK ("api_key"."scope" IN ('ALL', 'READ_ONLY', 'AGENT', 'RESTRICTED'));--> statement-breakpoint
CREATE FUNCTION usage_span_close(closed_kind text, closed_subject text) RETURNS void LANGUAGE sql AS $$
  UPDATE usage_span SET ended_at = now() WHERE kind = closed_kind AND subject_id = closed_subject AND ended_at IS NULL
$$;--> statement-breakpoint
CREATE FUNCTION usage_of_worker() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'INSERT' AND NEW.ended_at IS NULL THEN
    INSERT INTO usage_span (account_id, kind, subject_id, endpoint_id, template_id, image_name, locations, gpu_type_id, gpu_count, disk_gb, usd_per_hour)
    SELECT e.account_id, 'WORKER', NEW.id, e.id, t.id, t.image_name, m.locations, coalesce(g.name, ''), cardinality(NEW.gpu_uuids),
      t.container_disk_gb, coalesce(p.usd_per_hour, 0) * greatest(cardinality(NEW.gpu_uuids), 1)
    FROM endpoint e JOIN template t ON t.id = e.template_id JOIN machine m ON m.id = NEW.machine_id
    LEFT JOIN LATERAL (SELECT gpu ->> 'name' AS name FROM jsonb_array_elements(m.gpus) gpu WHERE gpu ->> 'uuid' = NEW.gpu_uuids[1]) g ON true
    LEFT JOIN price p ON p.item = coalesce(g.name, 'CPU')
    WHERE e.id = NEW.endpoint_id;
  ELSIF TG_OP = 'DELETE' THEN
    PERFORM usage_span_close('WORKER', OLD.id);
  ELSIF OLD.ended_at IS NULL AND NEW.ended_at IS NOT NULL THEN
    PERFORM usage_span_close('WORKER', NEW.id);
  END IF;
  RETURN NULL;
END $$;--> statement-breakpoint
CREATE TRIGGER usage_of_worker_begun AFTER INSERT ON worker FOR EACH ROW EXECUTE FUNCTION usage_of_worker();--> statement-breakpoint
CREATE TRIGGER usage_of_worker_ended AFTER DELETE OR UPDATE OF ended_at ON worker FOR EACH ROW EXECUTE FUNCTION usage_of_worker();--> statement-breakpoint
CREATE FUNCTION usage_of_pod() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'DELETE' OR NEW.desired <> 'RUNNING' THEN
    PERFORM usage_span_close('POD', OLD.id);
  ELSIF TG_OP = 'INSERT' OR OLD.desired <> 'RUNNING' THEN
    INSERT INTO usage_span (account_id, kind, subject_id, template_id, image_name, locations, gpu_type_id, gpu_count, disk_gb, usd_per_hour)
    SELECT NEW.account_id, 'POD', NEW.id, NEW.template_id, NEW.image_name, m.locations, NEW.gpu_type_id, cardinality(NEW.gpu_uuids),
      NEW.container_disk_gb + NEW.volume_gb, coalesce(p.usd_per_hour, 0) * greatest(cardinality(NEW.gpu_uuids), 1)
    FROM machine m LEFT JOIN price p ON p.item = CASE NEW.gpu_type_id WHEN '' THEN 'CPU' ELSE NEW.gpu_type_id END
    WHERE m.id = NEW.machine_id;
  END IF;
  RETURN NULL;
END $$;--> statement-breakpoint
CREATE TRIGGER usage_of_pod AFTER INSERT OR DELETE OR UPDATE OF desired ON pod FOR EACH ROW EXECUTE FUNCTION usage_of_pod();--> statement-breakpoint
CREATE FUNCTION usage_of_volume() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP <> 'INSERT' THEN
    PERFORM usage_span_close('VOLUME', OLD.id);
  END IF;
  IF TG_OP <> 'DELETE' THEN
    INSERT INTO usage_span (account_id, kind, subject_id, locations, disk_gb, usd_per_hour)
    SELECT NEW.account_id, 'VOLUME', NEW.id, ARRAY[NEW.data_center_id], NEW.size_gb,
      coalesce((SELECT usd_per_hour FROM price WHERE item = 'VOLUME_GB'), 0) * NEW.size_gb;
  END IF;
  RETURN NULL;
END $$;--> statement-breakpoint
CREATE TRIGGER usage_of_volume AFTER INSERT OR DELETE OR UPDATE OF size_gb ON network_volume FOR EACH ROW EXECUTE FUNCTION usage_of_volume();

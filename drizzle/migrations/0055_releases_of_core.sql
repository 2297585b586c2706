-- Rollback: yes.
CREATE TABLE "core_release" (
	"version" text NOT NULL,
	"schema" bigint NOT NULL,
	"schema_name" text NOT NULL,
	"needs_schema" bigint NOT NULL,
	"needs_schema_name" text NOT NULL,
	"needs_reason" text NOT NULL,
	"first_started_at" timestamp with time zone DEFAULT now() NOT NULL,
	"last_started_at" timestamp with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "core_release_version_schema_pk" PRIMARY KEY("version","schema")
);

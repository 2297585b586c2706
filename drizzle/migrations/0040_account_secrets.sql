CREATE TABLE "secret" (
	"id" text PRIMARY KEY NOT NULL,
	"account_id" text NOT NULL,
	"name" text NOT NULL,
	"description" text DEFAULT '' NOT NULL,
	"value_sealed" "bytea" NOT NULL,
	"created_at" timestamp with time zone DEFAULT now() NOT NULL,
	"value_set_at" timestamp with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "secret_name_unique" UNIQUE("account_id","name")
);
--> statement-breakpoint
ALTER TABLE "endpoint" ADD COLUMN "secret_names" text[];--> statement-breakpoint
ALTER TABLE "pod" ADD COLUMN "secret_names" text[];--> statement-breakpoint
ALTER TABLE "template" ADD COLUMN "secret_names" text[];--> statement-breakpoint
ALTER TABLE "secret" ADD CONSTRAINT "secret_account_id_account_id_fk" FOREIGN KEY ("account_id") REFERENCES "public"."account"("id") ON DELETE cascade ON UPDATE no action;
CREATE TABLE "creation_key" (
	"account_id" text NOT NULL,
	"action" text NOT NULL,
	"key_hash" "bytea" NOT NULL,
	"body_hash" "bytea" NOT NULL,
	"subject_id" text NOT NULL,
	"expires_at" timestamp with time zone NOT NULL,
	CONSTRAINT "creation_key_account_id_action_key_hash_pk" PRIMARY KEY("account_id","action","key_hash")
);
--> statement-breakpoint
ALTER TABLE "creation_key" ADD CONSTRAINT "creation_key_account_id_account_id_fk" FOREIGN KEY ("account_id") REFERENCES "public"."account"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "creation_key_expires_idx" ON "creation_key" USING btree ("expires_at");
package postgres

// MigrateFS lets tests bring their own migrations.
var MigrateFS = migrateFS

"""The published shape of every answer, as pydantic models; `kafkactl schema KIND` prints their JSON Schema.

Pydantic is imported only when a schema is asked for: commands build plain values, and a test holds those against
the models. Fields are added freely; a field that goes or changes its meaning raises `schema_version`.
"""

from __future__ import annotations

_CONFIG = "kafkactl.commands.models.config"
_DRYRUN = "kafkactl.commands.models.dryrun"
_LOG = "kafkactl.commands.models.log"
_MIGRATE_CHECK = "kafkactl.commands.models.migrate_check"
_MIGRATE_COMPARE = "kafkactl.commands.models.migrate_compare"
_MIGRATE = "kafkactl.commands.models.migrate"
_MIGRATE_STATE = "kafkactl.commands.models.migrate_state"
_NODES = "kafkactl.commands.models.nodes"
_QUORUM = "kafkactl.commands.models.quorum"
_FEATURES = "kafkactl.commands.models.features"
_SHARED = "kafkactl.commands.models.shared"
_STORAGE = "kafkactl.commands.models.storage"
_READING = "kafkactl.commands.models.storage_reading"
_TOOL = "kafkactl.commands.models.tool"

KINDS: dict[str, tuple[str, str]] = {
    "completion": (_TOOL, "Completion"),
    "config.change": (_CONFIG, "ConfigChange"),
    "config.view": (_CONFIG, "ConfigView"),
    "dryrun.prediction": (_DRYRUN, "DryrunPrediction"),
    "dryrun.predictions": (_DRYRUN, "DryrunPredictions"),
    "dryrun.report": (_DRYRUN, "DryrunReport"),
    "dryrun.reports": (_DRYRUN, "DryrunReports"),
    "error": (_SHARED, "Error"),
    "explain": (_TOOL, "Explain"),
    "explain.list": (_TOOL, "ExplainList"),
    "features.change": (_FEATURES, "FeaturesChange"),
    "features.describe": (_FEATURES, "FeaturesDescribe"),
    "features.feature-dependencies": (_FEATURES, "FeaturesFeatureDependencies"),
    "features.verify": (_FEATURES, "FeaturesVerify"),
    "features.version-mapping": (_FEATURES, "FeaturesVersionMapping"),
    "finding": (_SHARED, "Finding"),
    "log.browse": (_LOG, "LogBrowse"),
    "log.diff": (_LOG, "LogDiff"),
    "log.dump": (_LOG, "LogDump"),
    "log.history": (_LOG, "LogHistory"),
    "log.image": (_LOG, "LogImage"),
    "log.lint": (_LOG, "LogLint"),
    "log.verify": (_LOG, "LogVerify"),
    "migrate.check": (_MIGRATE_CHECK, "MigrateCheck"),
    "migrate.compare": (_MIGRATE_COMPARE, "MigrateCompare"),
    "migrate.observe": (_MIGRATE, "MigrateObserve"),
    "migrate.plan": (_MIGRATE_STATE, "MigratePlan"),
    "migrate.finalize": (_MIGRATE_STATE, "MigrateFinalize"),
    "migrate.rollback": (_MIGRATE_STATE, "MigrateRollback"),
    "migrate.run": (_MIGRATE_STATE, "MigrateRun"),
    "migrate.status": (_MIGRATE_STATE, "MigrateStatus"),
    "migrate.render": (_MIGRATE_COMPARE, "MigrateRender"),
    "nodes.list": (_NODES, "NodesList"),
    "nodes.unregister": (_NODES, "NodesUnregister"),
    "nodes.verify": (_NODES, "NodesVerify"),
    "quorum.change": (_QUORUM, "QuorumChange"),
    "quorum.describe": (_QUORUM, "QuorumDescribe"),
    "schema": (_TOOL, "Schema"),
    "schema.list": (_TOOL, "SchemaList"),
    "storage.apply": (_STORAGE, "StorageApply"),
    "storage.dump": (_READING, "StorageDump"),
    "storage.ensure": (_STORAGE, "StorageEnsure"),
    "storage.feature-dependencies": (_READING, "StorageFeatureDependencies"),
    "storage.format": (_STORAGE, "StorageFormat"),
    "storage.info": (_READING, "StorageInfo"),
    "storage.plan": (_STORAGE, "StoragePlan"),
    "storage.random-uuid": (_READING, "StorageRandomUuid"),
    "storage.unformat": (_STORAGE, "StorageUnformat"),
    "storage.verify": (_READING, "StorageVerify"),
    "storage.version-mapping": (_READING, "StorageVersionMapping"),
}

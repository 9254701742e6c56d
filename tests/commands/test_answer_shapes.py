"""The typed shapes of answers and the published schemas have the same fields."""

from __future__ import annotations

import inspect
from typing import Any

import pytest

from kafkactl.bundle.api.create import BundleResult
from kafkactl.bundle.manifest import SavedLog
from kafkactl.commands.models import (
    bundle,
    config,
    dryrun,
    log,
    migrate_compare,
    migrate_state,
    recover,
    shared,
    storage,
    storage_reading,
    tiered,
)  # fmt: skip
from kafkactl.commands.tiered.shown import WithFiles
from kafkactl.core.answers import by_fields
from kafkactl.core.values import Endpoint
from kafkactl.dryrun import answer as dryrun_answer
from kafkactl.dryrun import prediction
from kafkactl.dryrun.brokers import worst
from kafkactl.dryrun.controller.appended import Appended
from kafkactl.metadata.api import difference as log_difference
from kafkactl.metadata.api import image as log_image
from kafkactl.metadata.api import verify as log_verify
from kafkactl.metadata.image.diff import Difference
from kafkactl.metadata.io.image import Provenance
from kafkactl.metadata.verify import check as log_check
from kafkactl.migration.api.position import JournalSummary, MigrationStatus
from kafkactl.migration.compare.case import Difference as EntityDifference
from kafkactl.migration.steps.step import Step as MigrationStep
from kafkactl.quorum.api.recover.collect import RecoveryCopy
from kafkactl.quorum.recover import losses
from kafkactl.quorum.recover.rank import OldVoter
from kafkactl.quorum.recover.steps import Step as RecoveryStep
from kafkactl.simulator.study import Electing, SecondFailure, Study
from kafkactl.storage.api.fleet_apply import AppliedNode, FleetApplyResult
from kafkactl.storage.api.format import FormatResult, FormattedDirectory, WrittenFile
from kafkactl.storage.api.reading import DumpResult, InfoResult
from kafkactl.storage.api.unformat import UnformatResult, UnformattedDirectory
from kafkactl.storage.format.scram import ScramCredential
from kafkactl.storage.verify.model import Failure, Loss
from kafkactl.tiered import answers as tiered_answers
from kafkactl.tiered import api as tiered_operations
from kafkactl.tiered import bucket, forecast, pictures
from kafkactl.tiered.api import Forecast as Forecasts
from kafkactl.tiered.api import Saved
from kafkactl.tiered.api import pages as tiered_pages
from kafkactl.tiered.audit import coverage
from kafkactl.tiered.audit import run as tiered_audit
from kafkactl.tool.api import contexts

HEAD = {"kind", "schema_version"}
PAIRS: list[tuple[Any, Any]] = [
    (dryrun_answer.BeforeAfter, dryrun.BeforeAfter),
    (dryrun_answer.Members, dryrun.Members),
    (dryrun_answer.Result, dryrun.Result),
    (dryrun_answer.Feature, dryrun.Feature),
    (dryrun_answer.Step, dryrun.Step),
    (dryrun_answer.TopicPartition, dryrun.TopicPartition),
    (dryrun_answer.DifferenceDict, dryrun.Difference),
    (dryrun_answer.LogSize, dryrun.LogSize),
    (dryrun_answer.SnapshotSize, dryrun.SnapshotSize),
    (dryrun_answer.Load, dryrun.Load),
    (dryrun_answer.Effects, dryrun.Effects),
    (dryrun_answer.ReplicaDict, dryrun.Replica),
    (dryrun_answer.Source, dryrun.Source),
    (dryrun_answer.Earlier, dryrun.Earlier),
    (dryrun_answer.PredictionDict, dryrun.ReportedPrediction),
    (dryrun_answer.Answer, dryrun.DryrunPrediction),
    (dryrun_answer.ReportDict, dryrun.DryrunReport),
    (contexts.ContextDict, config.Context),
    (contexts.ContextsDict, config.ConfigView),
    (losses.SettingDict, recover.RecoverSetting),
    (losses.EntityDict, recover.RecoverEntity),
    (losses.OtherDict, recover.RecoverOther),
]


@pytest.mark.parametrize("shape, model", PAIRS, ids=lambda pair: f"{pair.__module__}.{pair.__name__}")
def test_a_part_has_the_fields_of_the_schema(shape: Any, model: Any) -> None:
    published = {field.alias or name for name, field in model.model_fields.items()}
    assert {*shape.__required_keys__, *shape.__optional_keys__} - HEAD == published - HEAD


# Answers without a typed dictionary: with each model the class, and the one whose entries are among its own.
CLASSES: list[tuple[Any, tuple[Any, ...]]] = [
    (bundle.BundleLog, (SavedLog,)),
    (bundle.Bundle, (BundleResult,)),
    (dryrun.Alternative, (prediction.Outcome,)),
    (dryrun.Appended, (Appended,)),
    (dryrun.Change, (prediction.Change,)),
    (dryrun.Counts, (prediction.Counts,)),
    (dryrun.Loss, (worst.Loss,)),
    (dryrun.ServerError, (prediction.ServerError,)),
    (log.Cut, (log_check.Cut,)),
    (log.Difference, (Difference,)),
    (log.Divergence, (log_verify.DivergedLog,)),
    (log.LogDiff, (log_difference.ImageDifference,)),
    (log.LogImage, (log_image.ImageSummary, Provenance)),
    (log.LogLint, (log_image.LintResult, Provenance)),
    (log.LogVerify, (log_verify.LogVerification,)),
    (log.RankedLog, (log_verify.RankedLog,)),
    (log.Side, (Provenance,)),
    (log.SnapshotName, (log_check.SnapshotEnd,)),
    (log.VerifiedLog, (log_check.VerifiedLog,)),
    (migrate_compare.Difference, (EntityDifference,)),
    (migrate_state.MigrateStatus, (MigrationStatus,)),
    (migrate_state.MigrationStep, (MigrationStep,)),
    (migrate_state.Remembered, (JournalSummary,)),
    (recover.QuorumRecoverCollect, (RecoveryCopy,)),
    (recover.RecoverStep, (RecoveryStep,)),
    (recover.RecoverVoter, (OldVoter,)),
    (shared.Endpoint, (Endpoint,)),
    (shared.Electing, (Electing,)),
    (shared.SecondFailure, (SecondFailure,)),
    (shared.Simulation, (Study,)),
    (storage.AppliedNode, (AppliedNode,)),
    (storage.FormattedDirectory, (FormattedDirectory,)),
    (storage.PlannedUser, (ScramCredential,)),
    (storage.StorageApply, (FleetApplyResult,)),
    (storage.StorageFormat, (FormatResult,)),
    (storage.StorageUnformat, (UnformatResult,)),
    (storage.UnformattedDirectory, (UnformattedDirectory,)),
    (storage.WrittenFile, (WrittenFile,)),
    (storage_reading.ExpectedFailure, (Failure,)),
    (storage_reading.Loss, (Loss,)),
    (storage_reading.StorageDump, (DumpResult,)),
    (storage_reading.StorageInfo, (InfoResult,)),
    (tiered.AuditSource, (tiered_operations.AuditSource,)),
    (tiered.AuditTotals, (tiered_audit.AuditTotals,)),
    (tiered.BucketRead, (bucket.BucketRead,)),
    (tiered.Candidate, (forecast.Candidate,)),
    (tiered.EpochStart, (tiered_answers.EpochStart,)),
    (tiered.ForecastPartition, (forecast.PartitionForecast,)),
    (tiered.HighestOffset, (tiered_audit.HighestOffset,)),
    (tiered.Hole, (coverage.Hole,)),
    (tiered.Lane, (pictures.Lane,)),
    (tiered.LocalLog, (pictures.LocalLog,)),
    (tiered.MetadataPartition, (tiered_operations.MetadataPartition,)),
    (tiered.OrphanAges, (pictures.OrphanAges,)),
    (tiered.Orphans, (tiered_audit.Orphans,)),
    (tiered.OrphansOfAge, (pictures.OrphansOfAge,)),
    (tiered.OtherSegments, (pictures.OtherSegments, pictures.Lane)),
    (tiered.Picture, (pictures.Picture,)),
    (tiered.RemotePartition, (tiered_audit.PartitionStatus,)),
    (tiered.RemoteSegment, (tiered_answers.RemoteSegment,)),
    (tiered.StoppedBy, (forecast.StoppedBy,)),
    (tiered.TieredAudit, (WithFiles, tiered_operations.Audit)),
    (tiered.TieredForecast, (Forecasts,)),
    (tiered.TieredObserve, (Saved,)),
    (tiered.TieredReport, (WithFiles, tiered_pages.TieredReport)),
    (tiered.Unreachable, (forecast.Unreachable,)),
]


@pytest.mark.parametrize("model, classes", CLASSES, ids=lambda given: getattr(given, "__name__", ""))
def test_a_class_has_the_fields_of_the_schema(model: Any, classes: tuple[Any, ...]) -> None:
    published = {field.alias or name for name, field in model.model_fields.items()}
    assert set().union(*map(_entries, classes)) == published - HEAD


def _entries(cls: Any) -> set[str]:
    """The names in JSON of what `by_fields` or `json_of` gives."""
    if cls.to_dict is by_fields:
        return set(cls._shape_.kinds)
    paths = inspect.getclosurevars(cls.to_dict).nonlocals["paths"]
    return {name for name, _, _ in paths if name}

"""The typed shapes of answers and the published schemas have the same fields."""

from __future__ import annotations

from typing import Any

import pytest

from kafkactl.commands.models import config, dryrun, features, log, nodes, quorum, recover, shared, storage, tiered
from kafkactl.dryrun import answer as dryrun_answer
from kafkactl.features.cluster import answer as nodes_answer
from kafkactl.features.cluster import describe as features_describe
from kafkactl.operations import contexts
from kafkactl.operations import tiered as tiered_operations
from kafkactl.operations.log import difference as log_difference
from kafkactl.operations.log import image as log_image
from kafkactl.operations.log import verify as log_verify
from kafkactl.operations.storage import answers as storage_answers
from kafkactl.operations.tiered import pages as tiered_pages
from kafkactl.quorum import answer as quorum_answer
from kafkactl.recover import losses
from kafkactl.storage import log_check
from kafkactl.tiered import answers as tiered_answers
from kafkactl.tiered import bucket, forecast, pictures
from kafkactl.tiered.audit import coverage
from kafkactl.tiered.audit import run as tiered_audit
from kafkactl.values import EndpointDict

HEAD = {"kind", "schema_version"}
PAIRS: list[tuple[Any, Any]] = [
    (dryrun_answer.CountsDict, dryrun.Counts),
    (dryrun_answer.OutcomeDict, dryrun.Alternative),
    (dryrun_answer.ChangeDict, dryrun.Change),
    (dryrun_answer.AppendedDict, dryrun.Appended),
    (dryrun_answer.BeforeAfter, dryrun.BeforeAfter),
    (dryrun_answer.Members, dryrun.Members),
    (dryrun_answer.ServerErrorDict, dryrun.ServerError),
    (dryrun_answer.Result, dryrun.Result),
    (dryrun_answer.Feature, dryrun.Feature),
    (dryrun_answer.Step, dryrun.Step),
    (dryrun_answer.LossDict, dryrun.Loss),
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
    (nodes_answer.RangeDict, nodes.Range),
    (nodes_answer.SeenAsDict, nodes.SeenAs),
    (nodes_answer.NodeDict, nodes.Node),
    (nodes_answer.NodesDict, nodes.NodesList),
    (EndpointDict, shared.Endpoint),
    (quorum_answer.ReplicaDict, quorum.Replica),
    (quorum_answer.NodeDict, quorum.QuorumNode),
    (quorum_answer.DiskDict, quorum.QuorumDisk),
    (quorum_answer.QuorumDict, quorum.QuorumDescribe),
    (storage_answers.FormatDict, storage.StorageFormat),
    (storage_answers.DirectoryDict, storage.FormattedDirectory),
    (storage_answers.FileDict, storage.WrittenFile),
    (storage_answers.ApplyDict, storage.StorageApply),
    (storage_answers.AppliedNodeDict, storage.AppliedNode),
    (storage_answers.UnformatDict, storage.StorageUnformat),
    (storage_answers.UnformattedDict, storage.UnformattedDirectory),
    (contexts.ContextDict, config.Context),
    (contexts.ContextsDict, config.ConfigView),
    (features_describe.DescriptionDict, features.FeaturesDescribe),
    (features_describe.FeatureDict, features.Feature),
    (features_describe.RangeDict, features.NodeRange),
    (features_describe.MemberDict, features.NodeSeen),
    (log_difference.DifferencesDict, log.LogDiff),
    (log_difference.DifferenceDict, log.Difference),
    (log_image.ProvenanceDict, log.Side),
    (log_image.LintDict, log.LogLint),
    (log_verify.VerificationDict, log.LogVerify),
    (log_verify.RankDict, log.RankedLog),
    (log_check.LogDict, log.VerifiedLog),
    (log_check.CutDict, log.Cut),
    (losses.SettingDict, recover.RecoverSetting),
    (losses.EntityDict, recover.RecoverEntity),
    (losses.OtherDict, recover.RecoverOther),
    (tiered_answers.SegmentDict, tiered.RemoteSegment),
    (tiered_answers.EpochStartDict, tiered.EpochStart),
    (bucket.BucketDict, tiered.BucketRead),
    (tiered_operations.SourceDict, tiered.AuditSource),
    (tiered_operations.MetadataPartitionDict, tiered.MetadataPartition),
    (tiered_operations.AuditDict, tiered.TieredAudit),
    (tiered_audit.TotalsDict, tiered.AuditTotals),
    (tiered_audit.StatusDict, tiered.RemotePartition),
    (tiered_audit.HighestDict, tiered.HighestOffset),
    (tiered_audit.OrphansDict, tiered.Orphans),
    (coverage.HoleDict, tiered.Hole),
    (tiered_pages.ReportDict, tiered.TieredReport),
    (forecast.ForecastDict, tiered.ForecastPartition),
    (forecast.CandidateDict, tiered.Candidate),
    (forecast.StoppedByDict, tiered.StoppedBy),
    (forecast.UnreachableDict, tiered.Unreachable),
    (pictures.PictureDict, tiered.Picture),
    (pictures.LaneDict, tiered.Lane),
    (pictures.OthersDict, tiered.OtherSegments),
    (pictures.LocalDict, tiered.LocalLog),
    (pictures.AgeDict, tiered.OrphansOfAge),
    (pictures.OrphanAgesDict, tiered.OrphanAges),
]


@pytest.mark.parametrize("shape, model", PAIRS, ids=lambda pair: f"{pair.__module__}.{pair.__name__}")
def test_a_part_has_the_fields_of_the_schema(shape: Any, model: Any) -> None:
    published = {field.alias or name for name, field in model.model_fields.items()}
    assert {*shape.__required_keys__, *shape.__optional_keys__} - HEAD == published - HEAD

"""Binds each role of a run to a provider with limits and a cost meter, or a local worker."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from evalbench.engine.calls import Provider, WorkerProvider
from evalbench.engine.calls.secrets import key_of
from evalbench.engine.config.roles import CANDIDATE, RoleSpec
from evalbench.engine.config.spec import RunSpec
from evalbench.engine.cost.budget import Budget
from evalbench.engine.dispatch.base import Dispatcher
from evalbench.engine.dispatch.batch import BatchSettings
from evalbench.engine.dispatch.limiter import Limiter
from evalbench.engine.dispatch.realtime import RealtimeDispatcher
from evalbench.engine.dispatch.shared_limits import SharedLimits
from evalbench.engine.execution.ask import BoundModel
from evalbench.engine.execution.meters import CostMeters
from evalbench.engine.execution.model_identity import model_changes, note_model
from evalbench.engine.execution.resuming import OpenedRun
from evalbench.engine.journal.batches import batches
from evalbench.engine.keys import HUGGINGFACE, fingerprint
from evalbench.engine.paths import cache_dir
from evalbench.engine.runs.folder import RunFolder

if TYPE_CHECKING:
    # Imported only by the runs that need them: each is slow to import.
    from evalbench.engine.dispatch.batch import BatchDispatcher
    from evalbench.engine.dispatch.local.dispatcher import LocalDispatcher
    from evalbench.engine.dispatch.local.worker_slots import SlotPool


class RoleBinding:
    """Gives every role a dispatcher for its calls.

    Attributes:
        meters: prices and the budget by role.
        dispatchers: by role, in creation order; a role that shares another's local worker has
            none of its own.
        batching: the dispatchers that send batches.
        locals: the dispatchers whose workers hold a model.
    """

    def __init__(
        self,
        spec: RunSpec,
        secrets: Mapping[str, str],
        opened: OpenedRun,
        budget: Budget,
        *,
        folder: RunFolder,
        batch_settings: BatchSettings,
        on_changes: Callable[[list[str]], None],
    ) -> None:
        """Prepare role binding.

        Args:
            spec: the run's spec.
            secrets: the keys of its models, by role.
            opened: the run, with unit prices and memory estimates for local models.
            budget: the budget of the whole run.
            folder: the run's folder, for batch files and local workers' logs.
            batch_settings: the run's batch settings.
            on_changes: called when a local model is loaded differently than before; may raise.
        """
        self._roles = roles = spec.roles()
        self._secrets = secrets
        self._journal = opened.journal
        self._folder = folder
        self._batch_settings = batch_settings
        self._fits = opened.fits
        self._on_changes = on_changes
        self._images = "images" in opened.benchmark.needs()
        self._address = spec.settings.address
        self.meters = CostMeters(
            {role: (part.model, part.video_fps) for role, part in roles.items()},
            opened.prices,
            budget,
            opened.journal,
        )
        self.dispatchers: dict[str, Dispatcher] = {}
        self.batching: list[BatchDispatcher] = []
        self.locals: list[LocalDispatcher] = []

    def bound_models(self) -> dict[str, BoundModel]:
        """Every role with its model, dispatcher and parameters."""
        return {
            role: BoundModel(part.ref, self._dispatcher(part), part.overrides())
            for role, part in self._roles.items()
        }

    def _dispatcher(self, part: RoleSpec) -> Dispatcher:
        """The dispatcher for one role. Equal local models share one worker."""
        for role, other in self._roles.items():
            if role in self.dispatchers and _same_worker(part, other):
                return self.dispatchers[role]
        self.dispatchers[part.role] = made = self._new_dispatcher(part)
        return made

    def _new_dispatcher(self, part: RoleSpec) -> Dispatcher:
        secret = self._secrets.get(part.role, "")
        provider = part.provider(secret)
        if isinstance(provider, WorkerProvider):
            return self._with_workers(provider, part, secret)
        assert isinstance(provider, Provider)
        return self._over_network(provider, part, secret)

    def _with_workers(
        self, provider: WorkerProvider, part: RoleSpec, secret: str
    ) -> LocalDispatcher:
        from evalbench.engine.dispatch.local.dispatcher import IMAGE_WINDOW, WINDOW, LocalDispatcher
        from evalbench.engine.dispatch.local.replica import WorkerModel

        made = LocalDispatcher(
            WorkerModel(
                provider,
                part.model.partition("/")[2],
                env={HUGGINGFACE.variables[0]: secret} if secret else {},
                need=(self._fits.get(part.role) or {}).get("need") or {},
                device=_device(part),
            ),
            report=partial(self._report_of_worker, part.model),
            log=self._folder.worker_log,
            window=part.settings.concurrency,
            each=IMAGE_WINDOW if self._shows(part) else WINDOW,
            pool=self._pool(part),
        )
        self.locals.append(made)
        return made

    def _over_network(self, provider: Provider, part: RoleSpec, secret: str) -> Dispatcher:
        shared_limits = None
        # Where the SDK finds credentials itself, the provider names their owner. Whatever is
        # sent along with a key, the limits are per key.
        if whose := key_of(secret) or provider.account or secret:
            shared_limits = SharedLimits(cache_dir() / "limits", fingerprint(whose), part.ref.name)
        limiter = Limiter(
            concurrency=part.settings.concurrency,
            qps=part.settings.qps,
            tpm=part.settings.tpm,
            shared_limits=shared_limits,
            gentle=provider.capabilities(part.ref.name).gentle,
        )
        batched = provider.batch_api is not None and self._has_batches(part)
        meter = self.meters.by_role[part.role]
        realtime = RealtimeDispatcher(
            provider,
            limiter,
            self.meters.at_once[part.role] if batched else meter,
            attempts=part.settings.attempts,
            report=self._journal.event,
            wait_s=self._batch_settings.wait_for_server_s,
        )
        if not batched:
            return realtime
        from evalbench.engine.dispatch.batch import BatchDispatcher

        made = BatchDispatcher(
            realtime,
            meter,
            self._journal,
            self._folder.batches,
            replace(self._batch_settings, collect=part.batched, size=part.settings.batch_size),
            role=part.role,
            model=part.wire_name,
        )
        self.batching.append(made)
        return made

    def _pool(self, part: RoleSpec) -> SlotPool:
        """Where the workers of a local model can run."""
        from evalbench.engine.dispatch.local.cluster import Cluster
        from evalbench.engine.dispatch.local.machine import Machine

        device = _device(part)
        log, workers = self._folder.worker_log, part.settings.workers
        if not part.clustered:
            return Machine(log, workers or 1, device)
        models = {other.model for other in self._roles.values() if other.clustered}
        return Cluster(self._address, log, most=workers, device=device, models=len(models))

    def _has_batches(self, part: RoleSpec) -> bool:
        """Whether a role sends batches, or has batches of an earlier engine still pending."""
        if part.batched:
            return True
        rows = self._journal.query(partial(batches, path=self._journal.path))
        mine = [row for row in rows if row.body["role"] == part.role]
        if not mine:
            return False
        from evalbench.engine.dispatch.batch.state import batch_of

        return any(not batch_of(row).stage.final for row in mine)

    def _shows(self, part: RoleSpec) -> bool:
        return self._images and part.role == CANDIDATE

    def _report_of_worker(self, model: str, kind: str, /, **body: Any) -> None:
        self._journal.event(kind, **body)
        if kind == "model-loaded":
            if changes := model_changes(self._journal, model, body):
                self._on_changes(changes)
            note_model(self._journal, model, body)

    async def close(self) -> None:
        """Close every dispatcher."""
        for dispatcher in self.dispatchers.values():
            await dispatcher.close()


def _device(part: RoleSpec) -> str:
    return str(part.provider_options.get("device") or "auto")


def _same_worker(one: RoleSpec, other: RoleSpec) -> bool:
    """Whether one worker can serve two roles: same local model, same load settings."""
    alike = (
        one.model == other.model
        and one.provider_options == other.provider_options
        and one.clustered == other.clustered
    )
    return alike and isinstance(one.provider(), WorkerProvider)

"""Who answers the calls of each role in a run: provider, limits, purse, or a local worker."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from evalbench.engine.calls import BatchProvider, Provider, WorkerProvider
from evalbench.engine.config.roles import CANDIDATE, RoleSpec
from evalbench.engine.cost.budget import Budget
from evalbench.engine.cost.unit_prices import UnitPrices
from evalbench.engine.dispatch.base import Dispatcher
from evalbench.engine.dispatch.batch import BatchWishes
from evalbench.engine.dispatch.limits import Limiter
from evalbench.engine.dispatch.pace import SharedPace
from evalbench.engine.dispatch.realtime import Realtime
from evalbench.engine.execution.ask import Contestant
from evalbench.engine.execution.loaded import model_changes, note_model
from evalbench.engine.execution.purses import Purses
from evalbench.engine.journal import Journal
from evalbench.engine.journal.batches import batches
from evalbench.engine.keys import HUGGINGFACE, fingerprint
from evalbench.engine.paths import cache_dir
from evalbench.engine.runs.folder import RunFolder

if TYPE_CHECKING:
    # Loaded by the runs that need them: each takes its time, and most need none.
    from evalbench.engine.dispatch.batch import Batching
    from evalbench.engine.dispatch.local.dispatcher import Local
    from evalbench.engine.dispatch.local.links import Ground


class Casting:
    """Finds every role something that answers its calls.

    Attributes:
        purses: prices and budget by role.
        dispatchers: by role, in the order in which they were made; a role that
            shares another's local worker has none of its own.
        batching: those that send batches.
        locals: those that have workers with a model.
    """

    def __init__(
        self,
        cast: Mapping[str, RoleSpec],
        secrets: Mapping[str, str],
        prices: Mapping[str, UnitPrices | None],
        budget: Budget,
        *,
        journal: Journal,
        folder: RunFolder,
        wishes: BatchWishes,
        fits: Mapping[str, Mapping[str, Any]],
        on_changes: Callable[[list[str]], None],
        images: bool = False,
        address: str = "auto",
    ) -> None:
        """Prepare casting.

        Args:
            cast: the run's models by role.
            secrets: their keys, by role.
            prices: their unit prices, by role.
            budget: of the whole run.
            journal: of the run.
            folder: of the run: files of batches and the logs of local workers go there.
            wishes: what the run wants of its batches.
            fits: by role what local models were reckoned to take, see :meth:`.fit.Fit.to_json`.
            on_changes: told when a local model is loaded otherwise than before; may raise.
            images: the candidate's calls show images.
            address: of the cluster, for models that run on one.
        """
        self._cast = cast
        self._secrets = secrets
        self._journal = journal
        self._folder = folder
        self._wishes = wishes
        self._fits = fits
        self._on_changes = on_changes
        self._images = images
        self._address = address
        self.purses = Purses(
            {role: (part.model, part.video_fps) for role, part in cast.items()},
            prices,
            budget,
            journal,
        )
        self.dispatchers: dict[str, Dispatcher] = {}
        self.batching: list[Batching] = []
        self.locals: list[Local] = []

    def contestants(self) -> dict[str, Contestant]:
        """Every role with its model, dispatcher and parameters."""
        return {
            role: Contestant(part.ref, self._dispatcher(part), part.overrides())
            for role, part in self._cast.items()
        }

    def _dispatcher(self, part: RoleSpec) -> Dispatcher:
        """What answers the calls of one role. Equal local models share one worker."""
        for role, other in self._cast.items():
            if role in self.dispatchers and _same_worker(part, other):
                return self.dispatchers[role]
        self.dispatchers[part.role] = made = self._new_dispatcher(part)
        return made

    def _new_dispatcher(self, part: RoleSpec) -> Dispatcher:
        secret = self._secrets[part.role]
        provider = part.provider(secret)
        if isinstance(provider, WorkerProvider):
            return self._with_workers(provider, part, secret)
        assert isinstance(provider, Provider)
        return self._over_network(provider, part, secret)

    def _with_workers(self, provider: WorkerProvider, part: RoleSpec, secret: str) -> Local:
        from evalbench.engine.dispatch.local.dispatcher import IMAGE_WINDOW, WINDOW, Local

        made = Local(
            provider,
            part.model.partition("/")[2],
            report=partial(self._report_of_worker, part.model),
            need=(self._fits.get(part.role) or {}).get("need"),
            log=self._folder.worker_log,
            env={HUGGINGFACE.variables[0]: secret} if secret else {},
            window=part.get("concurrency"),
            each=IMAGE_WINDOW if self._shows(part) else WINDOW,
            ground=self._ground(part),
        )
        self.locals.append(made)
        return made

    def _over_network(self, provider: Provider, part: RoleSpec, secret: str) -> Dispatcher:
        pace = None
        # Where the SDK finds credentials itself, the provider says whose they are.
        if whose := secret or provider.account:
            pace = SharedPace(cache_dir() / "limits", fingerprint(whose), part.ref.name)
        limiter = Limiter(
            concurrency=part.get("concurrency"),
            qps=part.get("qps"),
            pace=pace,
            gentle=provider.capabilities(part.ref.name).gentle,
        )
        batched = isinstance(provider, BatchProvider) and self._has_batches(part)
        purse = self.purses.by_role[part.role]
        realtime = Realtime(
            provider,
            limiter,
            self.purses.at_once[part.role] if batched else purse,
            attempts=part.get("attempts"),
            report=self._journal.event,
            wait_s=self._wishes.wait_for_server_s,
        )
        if not batched:
            return realtime
        assert isinstance(provider, BatchProvider)
        from evalbench.engine.dispatch.batch import Batching

        made = Batching(
            provider,
            realtime,
            purse,
            self._journal,
            self._folder.batches,
            replace(self._wishes, collect=part.batched, size=part.get("batch_size")),
            role=part.role,
            model=part.wire_name,
            attempts=part.get("attempts"),
            report=self._journal.event,
        )
        self.batching.append(made)
        return made

    def _ground(self, part: RoleSpec) -> Ground:
        """Where the workers of a local model can be."""
        from evalbench.engine.dispatch.local.cluster import Cluster
        from evalbench.engine.dispatch.local.machine import Machine

        device = str(part.provider_options.get("device") or "auto")
        log, workers = self._folder.worker_log, part.get("workers")
        if not part.clustered:
            return Machine(log, workers or 1, device)
        models = {other.model for other in self._cast.values() if other.clustered}
        return Cluster(self._address, log, most=workers, device=device, models=len(models))

    def _has_batches(self, part: RoleSpec) -> bool:
        """Whether calls of a role go out in batches, or some of an earlier engine still are."""
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


def _same_worker(one: RoleSpec, other: RoleSpec) -> bool:
    """Whether two roles can be answered by one worker: the same local model, loaded alike."""
    alike = (
        one.model == other.model
        and one.provider_options == other.provider_options
        and one.clustered == other.clustered
    )
    return alike and isinstance(one.provider(), WorkerProvider)

"""An embedding client at a worker that tests step by hand, and everything that was given out."""

from support.fake_model import FakeLoader, FakeModel
from support.manual_worker import ManualWorker

from llm.generate.client import new_request_id
from llm.generate.embedding_client import EmbeddingClient
from llm.generate.events import Embedded, Ended, Event
from llm.generate.request import AUTO, EmbeddingRequest, LoadSpec

SPEC = LoadSpec("fake.gguf", "reference", 128)


class EmbeddingDesk:
    def __init__(self, loader: FakeLoader | None = None) -> None:
        self.loader = loader or FakeLoader(FakeModel)
        self.worker = ManualWorker(self.loader)
        self.client = EmbeddingClient(lambda: self.worker)
        self.events: list[Event] = []

    def embed(self, *texts: str, pooling: str = AUTO, spec: LoadSpec = SPEC) -> int:
        request = EmbeddingRequest(new_request_id(), texts, pooling)
        self.client.embed(request, spec)
        return request.id

    def poll(self) -> None:
        self.events += self.client.poll()

    def run(self) -> None:
        self.worker.run()
        self.poll()

    def result(self, request_id: int) -> Embedded | Ended:
        """Its only one."""
        ends = [event for event in self.events if isinstance(event, Embedded | Ended)]
        [found] = [event for event in ends if event.id == request_id]
        return found

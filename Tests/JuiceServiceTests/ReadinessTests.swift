import JuiceEngine
import Synchronization
import Testing

@testable import JuiceService

/// When the service calls itself ready.
@Suite struct ReadinessTests {
    private typealias Step = (worker: Int, event: WorkerEvent)

    private static let bothReady: [Step] = [(0, restored), (1, restored)]
    private static let restored = WorkerEvent.restored(
        partitions: [0],
        RestoredState(stores: 1, commands: 1, records: 2)
    )
    private static let error = LogError(.retry, "a test")

    private static let cases: [(steps: [Step], changes: [Bool])] = [
        ([(0, .started)], []),
        ([(0, .assigned([0])), (0, restored)], []),
        (bothReady, [true]),
        (bothReady + [(0, .committed(TransactionSummary())), (1, .aborted(error))], [true]),
        (bothReady + [(1, .retrying(error, attempt: 1))], [true]),
        (bothReady + [(1, .revoked), (1, .assigned([])), (1, restored)], [true, false, true]),
        (bothReady + [(0, .startingOver(error)), (0, restored)], [true, false, true]),
        (
            bothReady + [
                (0, .partitionStopped(0, PartitionFault(.offsets, ""))),
                (0, .committed(TransactionSummary())),
            ],
            [true, false]
        ),
        (
            [(0, .partitionStopped(0, PartitionFault(.offsets, "")))] + bothReady + [(0, .revoked)]
                + bothReady, [true]
        ),
        (bothReady + [(0, .left), (1, .left)], [true, false]),
        (bothReady + [(0, .failed(error))], [true, false]),
    ]

    @Test(arguments: cases.indices) func itFollowsTheWorkers(index: Int) {
        let told = Mutex<[Bool]>([])
        let readiness = Readiness(workerCount: 2) { isReady in told.withLock { $0.append(isReady) } }
        for (worker, event) in Self.cases[index].steps { readiness.note(event, ofWorker: worker) }
        #expect(told.withLock { $0 } == Self.cases[index].changes)
    }
}

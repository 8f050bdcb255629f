import Kafka
import Testing

@testable import JuiceEngine
@testable import JuiceService

/// When the service reports itself ready and alive, and what it reports as wrong.
@Suite struct ServiceHealthTests {
    private typealias Step = (worker: Int, event: WorkerEvent)

    private static let bothReady: [Step] = [(0, restored), (1, restored)]
    private static let restored = WorkerEvent.restored(
        partitions: [0], HeldState(partitions: 1, stores: 1, commands: 1), records: 2)
    private static let error = LogError(.retry, "a test")

    private static let cases: [(steps: [Step], changes: [Bool])] = [
        ([(0, .started)], []), ([(0, .assigned([0])), (0, restored)], []), (bothReady, [true]),
        (bothReady + [(1, .retrying(error, attempt: 1))], [true]),
        (bothReady + [(1, .revoked), (1, .assigned([])), (1, restored)], [true, false, true]),
        (bothReady + [(0, .startingOver(error)), (0, restored)], [true, false, true]),
        (
            bothReady + [(0, .partitionStopped(0, PartitionFault(.journal, ""))), (0, .committed(TransactionSummary()))],
            [true, false]
        ), ([(0, .partitionStopped(1, PartitionFault(.journal, "")))] + bothReady + [(0, .revoked)] + bothReady, [true]),
        (
            bothReady + [
                (0, .partitionFailing(0, PartitionFault(.leader(topic: "t"), ""))), (0, .startingOver(error)), (0, restored),
                (0, .partitionRecovered(0)),
            ],
            [true, false, true]
        ),
        (
            bothReady + [
                (0, .revoked), (0, .assigned([0, 2])), (0, .resumed([0], restoring: [2])), (0, .committed(TransactionSummary())),
            ],
            [true, false]
        ),
        (bothReady + [(0, .left), (1, .left)], [true, false]),
        (bothReady + [(0, .failed(error))], [true, false]),
    ]

    @Test(arguments: cases.indices) func itFollowsTheWorkers(index: Int) {
        let health = ServiceHealth()
        health.started(workers: 2)
        var (isReady, changes) = (false, [Bool]())
        for (worker, event) in Self.cases[index].steps {
            health.record(event, ofWorker: worker)
            if health.readiness.isEmpty != isReady {
                isReady.toggle()
                changes.append(isReady)
            }
        }
        #expect(changes == Self.cases[index].changes)
    }

    @Test func itSaysWhyItIsNotReady() {
        let health = ServiceHealth()
        #expect(health.readiness == ["the topics are not checked yet"])
        health.started(workers: 2)
        let waiting = (0...1).map { "worker \($0) waits for its share of the partitions" }
        #expect(health.readiness == waiting)
        health.record(.assigned([2, 3]), ofWorker: 0)
        health.record(Self.restored, ofWorker: 1)
        #expect(health.readiness == ["worker 0 restores partitions 2, 3"])
        health.record(.resumed([2], restoring: [3]), ofWorker: 0)
        #expect(health.readiness == ["worker 0 restores partition 3"])
        health.record(.partitionStopped(3, PartitionFault(.stock, at: 7, "bad stock")), ofWorker: 0)
        health.record(Self.restored, ofWorker: 0)
        #expect(health.readiness == ["partition 3 is stopped: bad stock"])
        health.record(.partitionFailing(3, PartitionFault(.leader(topic: "t"), "no leader")), ofWorker: 0)
        health.record(.partitionStopped(3, PartitionFault(.stock, at: 7, "bad stock")), ofWorker: 0)
        #expect(health.readiness == ["partition 3 is stopped: bad stock"])
        health.record(.startingOver(Self.error), ofWorker: 0)
        #expect(health.readiness == ["worker 0 starts over: a test"])
        health.record(Self.restored, ofWorker: 0)
        #expect(health.readiness.isEmpty)
        health.stopping()
        #expect(health.readiness == ["the service is stopping"])
    }

    /// The service is ready: restarting it would do the harm.
    @Test func warnsOfDeletedAnswers() {
        let health = ServiceHealth()
        health.started(workers: 1)
        health.record(Self.restored, ofWorker: 0)
        health.record(.answersDeleted(0, until: .max / 2), ofWorker: 0)
        health.record(.answersDeleted(1, until: 1), ofWorker: 0)
        #expect(health.readiness.isEmpty)
        #expect(health.warnings.map { $0.prefix(35) } == ["answers of partition 0 were deleted"])
        health.record(.revoked, ofWorker: 0)
        health.record(.assigned([0]), ofWorker: 0)
        #expect(health.warnings.isEmpty)
    }

    /// The longest wait of a worker, by events and seconds after the start. It is rounded to tens: the events take time.
    @Test func aSilenceIsMeasuredWhileBrokersAnswer() {
        let health = ServiceHealth()
        let start = ContinuousClock.now
        func silence(since seconds: Int = 0, at now: Int) -> (worker: Int, call: String?, seconds: Int64)? {
            health.longestSilence(since: start + .seconds(seconds), at: start + .seconds(now)).map {
                ($0.worker, $0.call, ($0.time + .seconds(5)).components.seconds / 10 * 10)
            }
        }
        #expect(silence(at: 100) == nil, "nothing runs yet")
        health.started(workers: 2)
        health.record(.assigned([0]), ofWorker: 0)
        #expect(silence(at: 100) ?? (9, nil, 9) == (1, nil, 100))
        #expect(silence(since: 90, at: 100) ?? (9, nil, 9) == (1, nil, 10), "an outage does not count")
        health.record(.assigned([]), ofWorker: 1)
        #expect(silence(at: 100) == nil)
        health.record(.retrying(Self.error, attempt: 1), ofWorker: 0)
        #expect(silence(at: 100) ?? (9, nil, 9) == (0, "a test", 100))
        health.answered(worker: 0)
        #expect(silence(at: 100) == nil)
        health.record(.revoked, ofWorker: 1)
        #expect(silence(at: 100) ?? (9, nil, 9) == (1, nil, 100))
        health.ended()
        #expect(silence(at: 100) == nil)
    }

    @Test func itSaysWhatItReallyWaitsFor() {
        let health = ServiceHealth()
        health.started(workers: 1)
        for attempt in 1...WorkerLogger.attemptsBeforeWarning {
            health.record(.retrying(Self.error, attempt: attempt), ofWorker: 0)
        }
        #expect(health.readiness == ["worker 0 tries again: a test"])
        health.setHindrance("no coordinator")
        #expect(health.readiness == ["no coordinator", "worker 0 tries again: a test"])
        health.record(.started, ofWorker: 0)
        #expect(health.readiness == ["no coordinator", "worker 0 waits for its share of the partitions"])
        health.record(Self.restored, ofWorker: 0)
        #expect(health.readiness.isEmpty, "whoever works is not hindered")
        health.ended()
        health.renewing("a right is missing")
        #expect(health.readiness == ["all Kafka clients are made anew: a right is missing"])
        health.started(workers: 1)
        health.record(Self.restored, ofWorker: 0)
        #expect(health.readiness.isEmpty)
        let late = ContinuousClock.now + ThreadWatchdog.longestStep + .seconds(1)
        #expect(health.liveness(at: late).count == 1, "it is watched again")
    }

    @Test func reportsAnOutageWhileItLasts() {
        let health = ServiceHealth()
        let outage = "no Kafka broker answers at kafka:9092"
        health.setOutage(outage)
        #expect(health.readiness == [outage, "the topics are not checked yet"])
        health.setOutage(nil)
        health.started(workers: 1)
        health.record(Self.restored, ofWorker: 0)
        health.setOutage(outage)
        #expect(health.readiness == [outage])
        #expect(health.liveness.isEmpty, "to be restarted would not help")
        health.setOutage(nil)
        #expect(health.readiness.isEmpty)
    }

    @Test func itIsAliveAsLongAsEveryWorkerGetsOn() {
        let health = ServiceHealth()
        let now = ContinuousClock.now
        #expect(health.liveness(at: now + .seconds(3600)).isEmpty, "nothing runs yet")
        health.started(workers: 2)
        #expect(health.liveness(at: now + ThreadWatchdog.longestStep).isEmpty)
        let late = ContinuousClock.now + ThreadWatchdog.longestStep + .seconds(1)
        #expect(health.liveness(at: late).count == 2)
        #expect(health.liveness(at: late).first?.hasPrefix("worker 0 has been stuck for 12") == true)
        health.record(.left, ofWorker: 0)
        #expect(health.liveness(at: late).count == 1, "a worker that left makes no steps")
        health.ended()
        #expect(health.liveness(at: late).isEmpty)
    }
}

import Foundation
import Kafka
import Synchronization
import TestSupport
import Testing

@testable import JuiceService

/// Brokers limit connections (`max.connections.per.ip`), and docs/OPERATIONS.md says how many are needed.
@Suite(.concurrencyLimited, .enabled(if: Connections.areListed)) struct ConnectionTests {
    /// One worker, one broker: seven connections of the worker and one of the process. While it takes over, it has up to twelve.
    @Test func aWorkerHasFewConnections() async throws {
        let cluster = try await TestCluster.embedded()
        var configuration = cluster.impatientConfiguration()
        configuration.instanceID = "former"
        try await withRunningService(configuration) { #expect($0.becomesReady()) }
        let connections = try Connections(to: cluster.bootstrapServers)
        #expect(wait { connections.count == 0 })
        connections.watch()
        try await withRunningService(cluster.impatientConfiguration()) { events in
            // It has fenced the former owner, one id after the other. On a busy machine, former clients are slow to end.
            #expect(events.becomesReady())
            let most = connections.endWatch()
            #expect((2...24).contains(most), "\(most), after \(events.all)")
            // Each producer has its turn.
            for number in 1...4 {
                try cluster.order("\(number)")
                #expect(wait { events.committed.count >= number })
            }
            #expect(wait { (1...8).contains(connections.count) }, "\(connections.count)")
        }
    }

    /// However many ids it fences, and however slow their coordinator is, two clients ask at a time, with two connections each.
    ///
    /// Connections are not counted: on a busy machine, those of clients that end stay for long.
    @Test func aFenceAsksForTwoIDsAtATime() async throws {
        let (broker, roundTrip) = (try EmbeddedBroker(brokerCount: 1, logger: quietLogger), Duration.milliseconds(120))
        broker.setRoundTrip(roundTrip)
        let ids = Set((0..<16).map { "id-\($0)" })
        let time = try await onThread {
            let start = ContinuousClock.now
            let fence = ProducerFence(
                configuration: KafkaConfiguration(["bootstrap.servers": broker.bootstrapServers]),
                hooks: ClientHooks(logger: quietLogger))
            let undecided = try retrying(until: .now + .seconds(60)) { left throws(KafkaError) in
                try fence.fence(ids, timeout: left)
            }
            #expect(undecided.isEmpty)
            return ContinuousClock.now - start
        }
        // Each waits for its coordinator's address, and then for its answer.
        #expect(time >= roundTrip * 2 * (ids.count / 2), "\(time)")
    }
}

/// The connections that a broker on this machine has accepted, as Linux lists them.
private final class Connections: Sendable {
    private static let list = "/proc/self/net/tcp"
    static let areListed = FileManager.default.fileExists(atPath: list)

    /// The end of the address, in hexadecimal digits.
    private let port: String
    private let watched = Mutex((isOn: false, most: 0))

    init(to address: String) throws {
        port = String(format: ":%04X", try #require(address.split(separator: ":").last.flatMap { Int($0) }))
    }

    /// The number of established connections.
    var count: Int {
        // The file has no length.
        guard let file = FileHandle(forReadingAtPath: Self.list), let data = try? file.readToEnd() else { return 0 }
        let lines = String(decoding: data, as: UTF8.self).split(separator: "\n")
        return lines.count { line in
            let columns = line.split(separator: " ")
            return columns.count > 3 && columns[2].hasSuffix(port) && columns[3] == "01"
        }
    }

    /// Begins to record the highest count.
    func watch() {
        watched.withLock { $0 = (true, 0) }
        Thread { [self] in
            while watched.withLock(\.isOn) {
                let count = count
                watched.withLock { $0.most = max($0.most, count) }
                Thread.sleep(forTimeInterval: 0.002)
            }
        }.start()
    }

    /// Ends the recording, and returns the highest count since ``watch()``.
    func endWatch() -> Int {
        watched.withLock { watched in
            watched.isOn = false
            return watched.most
        }
    }
}

import ArgumentParser
import Foundation
import JuiceMessages
import JuiceService
import Kafka

/// `juice doctor`: looks at everything at once, and says what is wrong and what to do.
struct DoctorCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "doctor", abstract: "Say what is wrong with the cluster, the topics and the service, and what to do.",
        discussion: """
            Looks at the brokers, the topics and their settings, the consumer group, the owner and the position of every \
            partition, and the clocks. What is wrong comes first, the worst on top, each with what to do. It only reads: it joins \
            no group and has no producer, and may run beside any service.

            A partition is checked as an instance checks it that takes it over: is the log the one that was read, is the journal \
            whole, does the stock agree with it? A running instance may know more: see its /health/ready.

            Give it the service's --group, --topic-prefix and --menu, if they are not the default. --timeout bounds all of it. \
            What cannot be asked for is a warning, and the rest is shown.

            Exit status: that of the worst finding. 0 all is well, 1 warnings (no instance, commands that wait, a broker that is \
            gone, clocks), 69 no broker or no leader, 78 topics, settings or a stopped partition.

            Examples:
              juice doctor --bootstrap-servers kafka:9092
              juice doctor --json | jq -r '.findings[] | "\\(.severity): \\(.fault)\\n  \\(.mend)"'
            """
    )

    @Flag(inversion: .prefixedNo, help: "Print a JSON object.") var json: Bool?

    @OptionGroup var group: GroupOptions
    @OptionGroup var menu: MenuOptions
    @OptionGroup var timeout: TimeoutOption
    @OptionGroup var kafka: KafkaOptions

    func run() throws {
        let settings = try Settings(self)
        let report = try Self.report(on: KafkaClients(settings), settings)
        let paint = Paint.forStandardOutput()
        StandardOutput.line(
            try settings[.json] ? JSONText.indented(report) : report.lines(paint).joined(separator: "\n"))
        if report.status != 0 { throw ExitCode(report.status) }
    }

    /// Looks, and judges what it sees.
    static func report(on clients: KafkaClients, _ settings: Settings) throws -> DoctorReport {
        let timeout = try settings[.timeout]
        let configuration = ServiceConfiguration(
            bootstrapServers: clients.bootstrapServers, group: try settings[.group], instanceID: "doctor", topics: clients.topics,
            menu: try settings.menu(), kafkaProperties: clients.properties, capabilities: clients.capabilities)
        var seen = Observations(time: Int64(Date().timeIntervalSince1970 * 1000))
        do throws(Failure) {
            let admin = try clients.admin(reachedUntil: Deadline(after: timeout))
            seen = Examination(configuration: configuration, admin: admin, timeout: timeout, logger: clients.logger).observe()
        } catch {
            guard error.status == .unavailable else { throw error }
            seen.outage = [error.message, error.hint].compactMap(\.self).joined(separator: ": ")
        }
        return DoctorReport(seen, configuration)
    }
}

/// What was found and seen, as JSON and as text for people.
struct DoctorReport: Encodable {
    struct Finding: Encodable {
        let severity, fault, mend: String
    }

    struct Broker: Encodable {
        let id: Int32
        let address: String
        let answers: Bool
        let version: String?
    }

    struct Topic: Encodable {
        let name: String
        let partitions, replicationFactor, inSyncReplicas: Int
        /// Those that matter to the service, by Kafka's names.
        let settings: [String: String]
    }

    struct Member: Encodable {
        let instance, clientID, host: String
        let partitions: [Int32]
    }

    struct Group: Encodable {
        let name, state: String
        let coordinator: Int32?
        let members: [Member]
    }

    struct Partition: Encodable {
        let topic: String
        let partition: Int32
        /// The instance and the group that claimed it last.
        let instance, group: String?
        /// The next offset by the journal, and the one that the group has published.
        let next, published: Int64?
        let end, waiting: Int64?
        let waitingSince, lastAnswer: Int64?
        /// Why it is not read; nil if nothing is wrong with it.
        let stopped: String?
    }

    struct Clock: Encodable {
        let topic: String
        let partition: Int32
        let offset: Int64
        /// Whose clock it is of.
        let clock: String
        let timestamp: Int64
        /// Whether it was written while this looked, so that it says how the clocks differ.
        let isNew: Bool
    }

    let status: Int32
    let juice: String
    let librdkafka: String
    let bootstrapServers: String
    let time: Int64
    let clusterID: String?
    let controller: Int32?
    let findings: [Finding]
    let brokers: [Broker]
    let topics: [Topic]
    let group: Group?
    let partitions: [Partition]
    let clocks: [Clock]

    private static let shownSettings = [
        "cleanup.policy", "retention.ms", "min.insync.replicas", "max.message.bytes", "message.timestamp.type",
    ]

    init(_ seen: Observations, _ configuration: ServiceConfiguration) {
        let found = seen.findings(configuration)
        status = found.map(\.severity.rawValue).max() ?? 0
        (juice, librdkafka) = (JuiceCommand.currentVersion, KafkaLibrary.version)
        (bootstrapServers, time) = (configuration.bootstrapServers, seen.time)
        (clusterID, controller) = (seen.clusterID, seen.controller)
        findings = found.map { Finding(severity: $0.severity.word, fault: $0.fault, mend: $0.mend) }
        brokers = seen.brokers.map { Broker(id: $0.id, address: $0.address, answers: $0.silence == nil, version: $0.version) }
        topics = seen.topics.map { topic in
            Topic(
                name: topic.name, partitions: topic.partitions.count,
                replicationFactor: topic.partitions.first?.replicas.count ?? 0,
                inSyncReplicas: topic.partitions.map(\.inSyncReplicas.count).min() ?? 0,
                settings: (topic.settings ?? [:]).filter { Self.shownSettings.contains($0.key) })
        }
        group = seen.group.map { group in
            let members = group.members.map { member in
                let orders = member.partitions.filter { $0.topic == configuration.topics.orders }
                return Member(
                    instance: member.instanceID ?? member.clientID, clientID: member.clientID, host: member.host,
                    partitions: orders.map(\.partition).sorted())
            }
            return Group(
                name: configuration.group, state: group.state, coordinator: group.coordinator,
                members: members.sorted { $0.instance < $1.instance })
        }
        partitions = seen.partitions.flatMap { partition in
            partition.inputs.map { input in
                Partition(
                    topic: configuration.topics[input.input.topic.topic], partition: input.input.partition,
                    instance: partition.owner?.instance, group: partition.owner?.group, next: input.next,
                    published: input.published, end: partition.isServed ? input.log.upperBound : nil,
                    waiting: partition.isServed ? input.waiting : nil,
                    waitingSince: input.firstWaiting?.sentAt, lastAnswer: input.lastHandled?.answeredAt,
                    stopped: partition.fault?.reason)
            }
        }
        clocks = seen.stamps.map { stamp in
            Clock(
                topic: stamp.place.topic, partition: stamp.place.partition, offset: stamp.offset, clock: stamp.clock,
                timestamp: stamp.at, isNew: stamp.written != nil)
        }
    }
}

// MARK: - For people

extension DoctorReport {
    /// The findings, and then what was seen.
    func lines(_ paint: Paint) -> [String] {
        findingLines(paint) + versionLines(paint) + brokerLines(paint) + topicLines(paint) + groupLines(paint)
            + partitionLines(paint)
            + clockLines(paint)
    }

    private func findingLines(_ paint: Paint) -> [String] {
        guard !findings.isEmpty else { return [paint(.green, "all is well")] }
        return findings.flatMap { finding in
            let colour: Paint.Colour = finding.severity == "critical" ? .red : finding.severity == "warning" ? .yellow : .faint
            return [paint(colour, finding.severity) + "  " + finding.fault] + ["  to mend it: \(finding.mend)"]
        }
    }

    private func versionLines(_ paint: Paint) -> [String] {
        ["", "juice \(juice), librdkafka \(librdkafka), \(DateTime.utc(milliseconds: time)) by the clock of this machine"]
    }

    private func brokerLines(_ paint: Paint) -> [String] {
        guard !brokers.isEmpty else { return [] }
        var table = Table([
            .init(title: "broker", alignment: .right), .init(title: "address"), .init(title: "answers"), .init(title: "version"),
        ])
        for broker in brokers {
            table.add([
                .init("\(broker.id)", .bold), .init(broker.address), broker.answers ? .init("yes") : .init("no", .red),
                .init(broker.version ?? "unknown"),
            ])
        }
        // With KRaft, brokers name any one of them.
        let cluster =
            (clusterID.map { " of the cluster \($0)" } ?? "") + (controller.map { ", controller by way of broker \($0)" } ?? "")
        return ["", "\(brokers.count.counted("broker"))\(cluster)"] + table.lines(paint: paint)
    }

    private func topicLines(_ paint: Paint) -> [String] {
        guard !topics.isEmpty else { return [] }
        var table = Table(
            [.init(title: "topic")] + ["partitions", "replicas", "in sync"].map { .init(title: $0, alignment: .right) }
                + Self.shownSettings.map { .init(title: $0) })
        for topic in topics {
            let copies: Table.Cell = .init(
                "\(topic.inSyncReplicas)", topic.inSyncReplicas < topic.replicationFactor ? .yellow : nil)
            table.add(
                [.init(topic.name, .bold), .init("\(topic.partitions)"), .init("\(topic.replicationFactor)"), copies]
                    + Self.shownSettings.map { .init(topic.settings[$0] ?? "unknown") })
        }
        return [""] + table.lines(paint: paint)
    }

    private func groupLines(_ paint: Paint) -> [String] {
        guard let group else { return [] }
        let coordinator = group.coordinator.map { ", coordinated by broker \($0)" } ?? ""
        let title = "group \(group.name): \(group.state)\(coordinator)"
        guard !group.members.isEmpty else { return ["", title + ", without members"] }
        var table = Table([
            .init(title: "member"), .init(title: "client"), .init(title: "host"), .init(title: "partitions of the orders"),
        ])
        for member in group.members {
            table.add([
                .init(member.instance, .bold), .init(member.clientID), .init(member.host),
                .init(member.partitions.map(String.init).joined(separator: ", ")),
            ])
        }
        return ["", title] + table.lines(paint: paint)
    }

    private func partitionLines(_ paint: Paint) -> [String] {
        guard !partitions.isEmpty else { return [] }
        func text(_ number: Int64?) -> String { number.map(String.init) ?? "–" }
        // Only monitors read what the group has published, so it is shown if it would mislead somebody.
        let showsPublished = partitions.contains { $0.published != nil && $0.published != $0.next }
        var table = Table(
            [.init(title: "input"), .init(title: "owner")]
                + ["next", "end", "waiting"].map { .init(title: $0, alignment: .right) }
                + (showsPublished ? [.init(title: "published", alignment: .right)] : [])
                + [.init(title: "last answer"), .init(title: "")])
        for input in partitions {
            table.add(
                [
                    .init("\(input.topic) [\(input.partition)]", .bold),
                    .init(input.instance ?? (input.end == nil ? "–" : "nobody")),
                    .init(text(input.next)), .init(text(input.end)),
                    .init(text(input.waiting), input.waiting ?? 0 > 0 ? .yellow : nil),
                ] + (showsPublished ? [.init(text(input.published))] : []) + [
                    .init(input.lastAnswer.map { "\(spanText(time - $0)) ago" } ?? "–"),
                    input.stopped == nil ? .init("") : .init(input.end == nil ? "no leader" : "stopped", .red),
                ])
        }
        return [""] + table.lines(paint: paint)
    }

    /// The newest record of each topic.
    private func clockLines(_ paint: Paint) -> [String] {
        var table = Table([
            .init(title: "newest record"), .init(title: "stamped by"), .init(title: "against this machine's clock"),
        ])
        for topic in topics.map(\.name) {
            let stamps = clocks.filter { $0.topic == topic }
            guard
                let newest = stamps.filter(\.isNew).max(by: { $0.timestamp < $1.timestamp })
                    ?? stamps.max(by: { $0.timestamp < $1.timestamp })
            else { continue }
            let difference = newest.timestamp - time
            let age = difference > 1_000 ? "\(spanText(difference)) ahead" : "\(spanText(-difference)) ago"
            table.add([
                .init("\(newest.topic) [\(newest.partition)]", .bold), .init("\(newest.clock) clock"),
                .init(age + (newest.isNew ? ", and written while this looked" : "")),
            ])
        }
        return table.rows.isEmpty ? [] : [""] + table.lines(paint: paint)
    }
}

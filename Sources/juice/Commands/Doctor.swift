import ArgumentParser
import Foundation
import JuiceService
import Kafka

struct DoctorCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "doctor", abstract: "Say what is wrong with the cluster, the topics and the service, and what to do.",
        discussion: """
            Looks at the brokers, the topics and their settings, the consumer group, and the owner and the position of every \
            partition. What is wrong comes first, the worst on top, each with what to do. It only reads: it joins no group and has \
            no producer, and may run beside any service.

            A partition is checked as an instance checks it that takes it over: is the log the one that was read, is the journal \
            whole, does the stock agree with it? A running instance may know more: see its /health/ready.

            Give it the service's --group, --topic-prefix and --menu, if they are not the default. --timeout bounds all of it. \
            What cannot be asked for is a warning, and the rest is shown.

            Commands that wait are a warning after 10 s, or after 2 s if none of their partition is answered meanwhile. An \
            instance that was stopped or hangs remains in its group for 15 s (its session.timeout.ms): until then, only \
            commands that wait show it.

            Exit status: that of the worst finding. 0 all is well, or notices (dead letters, stores whose names look alike), 1 \
            warnings (no instance, commands that wait, a broker that is gone), 69 no broker or no leader, 78 topics, settings \
            or a stopped partition.

            Examples:
              juice doctor --bootstrap-servers kafka:9092
              juice doctor --json | jq -r '.findings[] | "\\(.severity): \\(.fault)\\n  \\(.fix)"'
            """
    )

    @Flag("Print a JSON object.") var json = false
    @OptionGroup var group: GroupOptions
    @OptionGroup var menu: MenuOptions
    @OptionGroup var client: ClientOptions

    func run() throws {
        let report = try report(on: KafkaClients(client))
        let lines = report.lines(.forStandardOutput()).joined(separator: "\n")
        StandardOutput.line(json ? try JSONText.indented(report) : lines)
        if report.status != 0 { throw ExitCode(report.status) }
    }

    func report(on clients: KafkaClients) throws -> DoctorReport {
        try DoctorReport(on: clients, clients.service(group: group.group, instanceID: "doctor", menu: try menu.load()))
    }
}

struct DoctorReport: Encodable {
    let status: Int32
    let findings: [Finding]
    let seen: Examination
    private(set) var juice = JuiceCommand.currentVersion
    private(set) var librdkafka = KafkaLibrary.version

    init(on clients: KafkaClients, _ configuration: ServiceConfiguration) throws(Failure) {
        var seen = Examination(time: .now)
        let deadline = clients.deadline
        do throws(Failure) {
            let admin = try clients.reachedAdmin()
            seen = Examiner(
                configuration: configuration, admin: admin, watch: clients.watch, timeout: clients.timeout, logger: clients.logger
            ).examine()
            if seen.topics.contains(where: { $0.name == clients.topics.deadLetters }) {
                var clients = clients
                clients.timeout = max(.seconds(1), deadline.remaining)
                Self.addDeadLetters(to: &seen, by: clients)
            }
        } catch {
            guard error.status == .unavailable else { throw error }
            seen.outage = [error.message, error.hint].compactMap(\.self).joined(separator: ": ")
        }
        self.seen = seen
        findings = seen.findings(configuration)
        status = findings.map(\.severity.rawValue).max() ?? 0
    }

    /// Adds the dead letters that were not sent again, which someone has to look at.
    private static func addDeadLetters(to seen: inout Examination, by clients: KafkaClients) {
        // Each letter may take a megabyte.
        let most = 100
        do throws(Failure) {
            let letters = try DeadLetterReader(clients).last(most) { !$0.isResent }
            guard let last = letters.last else { return }
            let codes = Dictionary(letters.map { ($0.code.printable, 1) }, uniquingKeysWith: +).sorted { $0 < $1 }
            let count = (letters.count < most ? "" : "at least ") + letters.count.counted("dead letter")
            let fault = "\(count) not sent again (\(codes.map { "\($1) \($0)" }.joined(separator: ", "))), the last at \(last.time)"
            seen.warnings.append(.init(fault, fix: clients.topics.command("dead-letters list --pending", clients.bootstrapServers)))
        } catch {
            // The only common permanent error is a missing permission.
            seen.failures.append(.init(part: "the dead letters", reason: error.message, isDenial: error.status == .software))
        }
    }

    func lines(_ paint: Paint) -> [String] {
        let well = findings.isEmpty ? [paint(.green, "all is well")] : []
        let found = findings.flatMap { finding in
            let colour: Paint.Colour = [.notice: .faint, .warning: .yellow][finding.severity] ?? .red
            return [paint(colour, finding.severity.word) + "  " + finding.fault, "  to fix it: \(finding.fix)"]
        }
        let time = DateTime.text(milliseconds: Int64(seen.time.timeIntervalSince1970 * 1000))
        let group = seen.group.map { ", group \($0.state)" } ?? ""
        var lines = well + found + ["", "juice \(juice), librdkafka \(librdkafka), \(time) by the clock of this machine\(group)"]
        for table in [brokers, proof, topics, members, inputs] where !table.rows.isEmpty {
            lines += [""] + table.lines(paint: paint)
        }
        return lines
    }

    private var brokers: Table {
        let rows = seen.brokers.map { broker -> [Table.Cell] in
            let answers = seen.silence[broker.address] == nil ? Table.Cell("yes") : Table.Cell("no", .red)
            return [.init("\(broker.id)", .bold), .init(broker.address), answers]
        }
        return Table(["broker", "address", "answers"], rows)
    }

    private var proof: Table {
        let proven: [BrokerProof.Proven: String] = [
            .before: "when the journal began", .untried: "not yet: `juice serve --dry-run` tries it",
        ]
        let rows = seen.proof.map { proof -> [Table.Cell] in
            let outcome = proof.fault == nil ? nil : Table.Cell("no", .red)
            return [.init(proof.property.text, .bold), outcome ?? .init(proven[proof.proven] ?? "now")]
        }
        return Table(["exactly once rests on this", "proven"], rows)
    }

    private var topics: Table {
        let settings = [
            "cleanup.policy", "retention.ms", "retention.bytes", "min.insync.replicas", "max.message.bytes",
            "message.timestamp.type",
        ]
        let rows = seen.topics.map { topic -> [Table.Cell] in
            let replicas = topic.partitions.first?.replicas.count ?? 0
            let inSync = topic.partitions.map(\.inSyncReplicas.count).min() ?? 0
            return [
                .init(topic.name, .bold), .init("\(topic.partitions.count)"), .init("\(replicas)"),
                .init("\(inSync)", inSync < replicas ? .yellow : nil),
            ] + settings.map { .init(topic.settings?[$0] ?? "unknown") }
        }
        return Table(["topic", "partitions", "replicas", "in sync"] + settings, rows)
    }

    private var members: Table {
        let members = (seen.group?.members ?? []).map { (name: $0.instanceID ?? "no instance", member: $0) }
        let rows = members.sorted { $0.name < $1.name }.map { name, member -> [Table.Cell] in
            let numbers = Set(member.partitions.map(\.partition)).sorted().map(String.init)
            return [.init(name, .bold), .init(member.clientID), .init(member.host), .init(numbers.joined(separator: ", "))]
        }
        return Table(["member of the group", "client", "host", "partitions"], rows)
    }

    private var inputs: Table {
        func text(_ number: Int64?) -> Table.Cell { .init(number.map(String.init) ?? "–") }
        func age(_ time: Date?) -> Table.Cell {
            guard let age = time.map({ seen.time.timeIntervalSince($0) }) else { return .init("–") }
            return .init(age < -1 ? "\(spanText(-age)) ahead" : "\(spanText(age)) ago")
        }
        let rows = seen.partitions.flatMap { partition in
            partition.inputs.map { input -> [Table.Cell] in
                let isServed = partition.isServed
                let waiting = isServed ? "\(input.waiting)" : "–"
                let fault = partition.fault == nil ? "" : isServed ? "stopped" : "no leader"
                return [
                    .init("\(input.topic) [\(input.partition)]", .bold), .init(partition.instance ?? (isServed ? "no owner" : "–")),
                    text(input.next), text(isServed ? input.end : nil), .init(waiting, input.waiting > 0 ? .yellow : nil),
                    .init(input.waitingSince.map { spanText(seen.time.timeIntervalSince($0)) } ?? "–"), age(input.lastAnswered),
                    .init(fault, .red),
                ]
            }
        }
        return Table(["input", "owner", "next", "end", "waiting", "for", "last answered", ""], rows)
    }
}

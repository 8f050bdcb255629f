import ArgumentParser
import Foundation
import JuiceAudit
import JuiceClient
import JuiceEngine
import JuiceMaker
import JuiceMessages
import Kafka
import Synchronization

/// `juice audit`: checks from the topics alone whether the contract was kept.
struct AuditCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "audit", abstract: "Check that every order and restock was answered once, and rightly.",
        discussion: """
            Reads all five topics up to their present ends, and merges the results with the orders and restocks by the \
            contract: one record per record, in order; every answer right; revisions without gaps; the stock a state that the \
            answers left; forwarded commands and dead letters accounted for. It says which partition had which owners when, and \
            which positions operators moved. It writes nothing, and needs only the permission to read.

            Give it the service's --menu, --duplicate-window and --duplicate-ids, if they are not the default. Where the \
            beginning of a topic has expired, it says from where on it could judge. Commands that are not answered yet are no \
            violation.

            Exit status: 0 clean, 1 a violation, 69 no broker.

            Examples:
              juice audit
              juice audit --json | jq -r '.violations[] | "\\(.topic) \\(.partition)@\\(.offset)"'
            """
    )

    @Flag(inversion: .prefixedNo, help: "Print the report as JSON.")
    var json: Bool?

    @Option(help: ArgumentHelp("The service's duplicate window. (default: 3600)", valueName: "seconds"))
    var duplicateWindow: Int?

    @Option(help: ArgumentHelp("How many ids per partition the service remembers for that. (default: 1000000)", valueName: "count"))
    var duplicateIds: Int?

    @OptionGroup var menu: MenuOptions
    @OptionGroup var timeout: TimeoutOption
    @OptionGroup var kafka: KafkaOptions

    func run() throws {
        let settings = try Settings(self)
        let printsJSON = try settings.boolean(.json)
        let run = try AuditRun(settings)
        let bar = ProgressBar()
        let report = try run.report(on: try Connection(settings)) { done, total in
            bar.show("auditing", done, of: total)
        }
        bar.clear()
        if printsJSON {
            StandardOutput.line(try JSONText.indented(report))
        } else {
            StandardOutput.line(report.lines.joined(separator: "\n"))
        }
        if !report.isClean { throw ExitCode.failure }
    }
}

/// One audit of a cluster.
struct AuditRun: Sendable {
    let menu: Menu
    let window: DuplicateWindow
    let topicPrefix: String
    let timeout: Duration

    init(_ settings: Settings) throws(Failure) {
        menu = try settings.menu()
        window = try DuplicateWindow(settings)
        topicPrefix = settings.string(.topicPrefix) ?? TopicNames.standardPrefix
        timeout = try settings.timeout()
    }

    /// Reads the topics and judges them.
    ///
    /// - Parameter onProgress: called with how many records were read, of how many, by one thread at a time.
    func report(
        on connection: Connection,
        onProgress: @escaping @Sendable (_ done: Int, _ total: Int) -> Void = { _, _ in }
    ) throws -> AuditReport {
        let cores = ProcessInfo.processInfo.activeProcessorCount
        let source = try KafkaAuditSource(connection, timeout: timeout, cores: cores, onProgress: onProgress)
        let rules = AuditRules(
            partitionCount: try AuditSession.storePartitionCount(of: source), memoryWindow: window.age, memoryCount: window.count,
            topicPrefix: topicPrefix, menu: AuditMenu(menu), allowsOpen: true)
        let session = AuditSession(source, by: rules)
        try audit(source.lanes(of: session.partitionCount), in: session)
        return AuditReport(try session.finish(), topicPrefix: topicPrefix)
    }

    /// Audits the partitions of all lanes at the same time, until one fails.
    private func audit(_ lanes: [StrideTo<Int>], in session: AuditSession) throws {
        let failure = Mutex<(any Error)?>(nil)
        DispatchQueue.concurrentPerform(iterations: lanes.count) { lane in
            do {
                for partition in lanes[lane] where failure.withLock({ $0 == nil }) {
                    try session.audit(partition)
                }
            } catch {
                failure.withLock { $0 = $0 ?? error }
            }
        }
        if let failure = failure.withLock({ $0 }) { throw failure }
    }
}

extension AuditMenu {
    /// The menu as plain data. The audit shares no code with the service.
    fileprivate init(_ menu: Menu) {
        self.init(
            fruits: menu.fruits.map { Fruit($0.id, initialLevel: $0.initialStock) },
            juices: menu.juices.map { juice in Juice(juice.id, juice.recipe.map { Amount(fruit: $0.fruit, amount: $0.amount) }) })
    }
}

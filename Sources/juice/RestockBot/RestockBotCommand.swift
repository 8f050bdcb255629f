import ArgumentParser
import JuiceClient
import JuiceRestockBot
import Kafka

/// `juice restock-bot`: refills fruits that run out.
struct RestockBotCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "restock-bot", abstract: "Refill fruits that run out: watch the stores and restock them, once per shortage.",
        discussion: """
            A fruit is short when LOW or fewer are left, or when an order lacked it and fewer than TARGET are left. The bot \
            refills it up to TARGET, never beyond: with one restock for all short fruits of a store, and no other for that \
            store until the service has answered. A rejected restock is not sent again until the stock changes. A store \
            without an answer in juice.results is ignored until its next order.

            Each shortage is refilled once, however many bots run and whichever of them dies. Bots of one --bot-group share \
            the stores; another bot takes over within 10 seconds. It may send a refill again, but with the same id, which is \
            derived from the answer that showed the shortage: so the service applies it once, within its duplicate window. \
            Groups are independent of each other: give each its own --stores or --fruits.

            With --admin-http it serves health and metrics. It is ready while a broker answers and it reads its partitions.

            It prints a line for each refill, and runs until Ctrl-C or SIGTERM; with --once until nothing is short and \
            every refill is answered, or until --timeout. Exit status: 0 ended or, with --once, done; 64 usage, 69 no broker \
            or no answer, 70 failed, 78 bad configuration or topics.

            Examples:
              juice restock-bot
              juice restock-bot --bootstrap-servers kafka:9092 --low 10 --target 100
              juice restock-bot --stores 강남,홍대 --fruits strawberry,mango --json
              juice restock-bot --once --timeout 60
            """
    )

    @Option(help: .init("Refill a fruit when this many or fewer are left. (default: 5)", valueName: "count"))
    var low: Int?
    @Option(help: .init("The level to refill up to; more than --low. (default: 30)", valueName: "count"))
    var target: Int?
    @Option(help: .init("Only these stores, separated by commas. (default: all)", valueName: "names"))
    var stores: String?
    @Option(help: .init("Only these fruits of the menu, by id or name. (default: all)", valueName: "names"))
    var fruits: String?
    @Flag(inversion: .prefixedNo, help: "Exit once nothing is short and every refill is answered.")
    var once: Bool?
    @Option(help: .init("The time limit of --once. (default: 10)", valueName: "seconds"))
    var timeout: Double?
    @Option(
        help: .init(
            "The group of bots that share the stores. (default: juice-restock-bot)",
            valueName: "name"
        )
    )
    var botGroup: String?
    @Flag(inversion: .prefixedNo, help: "Print each refill as a line of JSON, as --log-format json does.")
    var json: Bool?
    @OptionGroup var admin: AdminOptions
    @OptionGroup var menu: MenuOptions
    @OptionGroup var kafka: KafkaOptions

    func run() throws {
        let settings = try Settings(self)
        let plan = try RestockBotPlan(settings)
        let paint = Paint.forStandardOutput()
        let interruption = StopSignal.onInterruption()
        try RestockBotRun(
            connection: try Connection(settings), plan: plan, logger: try settings.logger(default: .notice),
            isEnded: { interruption.isRequested },
            show: { refill in
                let text = RefillLine.text(refill, time: ClockTime.now, paint: paint)
                StandardOutput.line(plan.printsJSON ? RefillLine.json(refill) : text)
            }
        ).run()
    }
}

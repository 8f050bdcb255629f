import ArgumentParser
import JuiceDomain
import JuiceMessages

/// `juice order`: sends an order.
struct OrderCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "order", abstract: "Order a juice, or several as one basket.",
        discussion: """
            Sends the order and confirms that a broker has stored it; with --wait it also prints the answer. Several juices \
            are one order, a basket: all of them are made, or none.

            A juice may be given by its id, its name in either language or an alias, in any case, with or without spaces; \
            `juice menu` lists them. The order contains the id.

            Exit status: 0 made (or sent), 2 out of stock, 3 rejected, 64 no such juice, 69 no broker or no answer.

            Examples:
              juice order mangoKiwi --wait
              juice order "mango kiwi juice" --wait
              juice order 딸바쥬스 --store gangnam --quantity 2 --wait
              juice order kiwi:2 strawberryBanana --store gangnam --wait
              juice order kiwi --order-id pos-7-000123 --wait --json
            """
    )

    @Argument(
        help: ArgumentHelp(
            "A juice's id, name or alias, and how many of it, from 1 to 100; at most 20 of these. (default: 1)",
            valueName: "juice[:count]"), completion: .juices) var juices: [String]

    @Option(.quantity, value: "count", help: "How many of a single juice, from 1 to 100. (default: 1)") var quantity: Int?
    @Option(.orderID, value: "id", help: "The order's id, of 1 to 128 bytes. (default: a new one)") var orderId: String?

    @OptionGroup var options: CommandOptions

    func run() throws {
        let settings = try Settings(self)
        let names = try settings[.unchecked] ? nil : MenuNames(menu: settings.menu(), language: settings[.language])
        let items = try OrderItems(juices, settings, names).items
        try Submission(settings).run(
            .order(id: Submission.id(settings, .orderID), store: settings[.store] ?? StoreID.main, items))
    }
}

/// The juices on `juice order`'s command line: each `NAME`, or `NAME:COUNT`.
struct OrderItems: Equatable {
    let items: [OrderedJuice]

    /// - Parameters:
    ///   - settings: may have the quantity of a single juice.
    ///   - names: finds the juices; nil leaves names and quantities to the service.
    init(_ arguments: [String], _ settings: Settings, _ names: MenuNames?) throws(Failure) {
        let quantities = names == nil ? .min ... .max : JuiceOrder.quantities
        let language = names?.language ?? .english
        guard names == nil || arguments.count <= JuiceOrder.mostItems else {
            let most = JuiceOrder.mostItems
            throw Failure(
                .usage,
                language.text(
                    "an order has at most \(most) juices, not \(arguments.count)",
                    "한 번에 \(most)가지까지만 주문할 수 있어요: \(arguments.count)가지"),
                hint: language.text("juice:count orders several of one juice", "같은 쥬스 여러 잔은 쥬스:수량으로 적어 주세요"))
        }
        let parsed = try arguments.map { argument throws(Failure) in try Self.parse(argument, quantities, names) }
        let quantity = try Self.quantity(
            settings, in: quantities, isAlone: parsed.count == 1 && parsed[0].quantity == nil, language)
        items = parsed.map { OrderedJuice(juice: $0.juice, quantity: $0.quantity ?? quantity ?? 1) }
    }

    /// The option for the count of a single juice; nil if it was not given.
    private static func quantity(
        _ settings: Settings, in range: ClosedRange<Int>, isAlone: Bool, _ language: Language
    ) throws(Failure) -> Int? {
        guard let source = settings.all(.quantity).first?.source else { return nil }
        do throws(Failure) {
            let quantity = try settings.integer(.quantity, in: range)
            guard isAlone else {
                throw .badSetting(
                    .quantity, source, "is for one juice without a count of its own: write juice:count for each instead")
            }
            return quantity
        } catch {
            let fault = "옵션은 쥬스 한 가지의 수량이고, \(range.lowerBound)부터 \(range.upperBound)까지의 정수여야 해요"
            throw language.text(error, .badSetting(.quantity, source, fault))
        }
    }

    /// A name on the menu may end like a count, so the whole argument is looked up first.
    private static func parse(
        _ argument: String, _ quantities: ClosedRange<Int>, _ names: MenuNames?
    ) throws(Failure) -> (juice: String, quantity: Int?) {
        if let juice = try? names?.juice(argument) { return (juice, nil) }
        guard let match = argument.wholeMatch(of: /(.*):([0-9]+)/.dotMatchesNewlines()) else {
            return (try names?.juice(argument) ?? argument, nil)
        }
        guard let quantity = Int(match.2), quantities.contains(quantity) else {
            let (least, most, argument) = (quantities.lowerBound, quantities.upperBound, argument.printable)
            let language = names?.language ?? .english
            throw Failure(
                .usage,
                language.text(
                    "the count in \"\(argument)\" must be a whole number, from \(least) to \(most)",
                    "수량은 \(least)부터 \(most)까지의 정수여야 해요: \"\(argument)\""))
        }
        let name = String(match.1)
        return (try names?.juice(name) ?? name, quantity)
    }
}

/// `juice cancel`: takes an order back.
struct CancelCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "cancel", abstract: "Cancel an order.",
        discussion: """
            Sends the cancel and confirms that a broker has stored it; with --wait it also prints the answer. The fruits of \
            an order that was made go back into stock. An order that was not made, or that the store does not know yet, \
            returns nothing, and will not be made if it comes again.

            Exit status: 0 cancelled (or sent), 3 rejected, 69 no broker or no answer.

            Examples:
              juice cancel pos-7-000123 --wait
              juice cancel pos-7-000123 --store gangnam --wait --json
            """
    )

    @Argument(help: ArgumentHelp("The id of the order.", valueName: "order-id")) var orderID: String
    @OptionGroup var options: SubmissionOptions

    func validate() throws {
        guard (1...CommandKind.maximumIDLength).contains(orderID.utf8.count) else {
            throw ValidationError("an order's id is 1 to \(CommandKind.maximumIDLength) bytes long")
        }
    }

    func run() throws {
        let settings = try Settings(self)
        try Submission(settings).run(.cancel(id: orderID, store: settings[.store] ?? StoreID.main))
    }
}

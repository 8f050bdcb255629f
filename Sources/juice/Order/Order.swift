import ArgumentParser
import JuiceMaker
import JuiceMessages

/// `juice order`: sends an order.
struct Order: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Order a juice, or several as one basket.",
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

    @Argument(help: OrderItems.help, completion: .list(Menu.standard.juices.map(\.id))) var juices: [String]

    @Option(help: ArgumentHelp("How many of a single juice, from 1 to 100. (default: 1)", valueName: "count")) var quantity: Int?

    @Option(help: ArgumentHelp("The order's id, of 1 to 128 bytes. (default: a new one)", valueName: "id"))
    var orderId: String?

    @OptionGroup var options: CommandOptions

    func run() throws {
        let settings = try Settings(self)
        let isUnchecked = try settings.boolean(.unchecked)
        let names = isUnchecked ? nil : MenuNames(menu: try settings.menu())
        let command = OutgoingCommand.order(
            id: try Submission.id(settings, .orderID), store: try settings.store() ?? StoreID.main,
            try OrderItems(juices, settings, names).items)
        try Submission(settings).run(command)
    }
}
